#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A configuration with a mistake: the error names file, section, key, value and
# what is allowed, the provider isn't loaded, and the default provider serves.
. "$(dirname "$0")/lib.sh"

echo "to be signed" >message
rsa_key 2048 key.pem
section=$(sed -n 's/^warprsa *= *//p' "$SOURCE_DIR/conf/openssl.cnf")

# refused KEY VALUE ALLOWED: ALLOWED is a pattern for the end of the error.
refused() {
    local key=$1 value=$2 allowed=$3
    configure bad.cnf "$MODULE" engine="$ENGINE" route=gpu "$key=$value"
    must_fail "by-name.cnf: section $section: $key = $value: $allowed"
    # The command in the comment of conf/openssl.cnf shows the error, too.
    if [ "$key" != trace ]; then
        WARPRSA_TRACE=stderr OPENSSL_CONF=bad.cnf "$OPENSSL" list -providers \
            2>&1 >/dev/null | grep -E "not loaded: .*: $key = $value: $allowed"
    fi
}

# must_fail ERROR: bad.cnf has a mistake.
must_fail() {
    # libcrypto drops the errors of a provider that the configuration activates.
    # So the program activates it here, and prints the error. Early releases of
    # 3.0 don't take the module's path from the configuration in that case.
    awk '/^\[/ { ours = /warprsa/ } !(ours && /^activate/)' bad.cnf \
        >by-name.cnf
    ! OPENSSL_CONF=by-name.cnf OPENSSL_MODULES=$BUILD_DIR/provider "$OPENSSL" \
        list -providers -provider warprsa >list.log 2>&1 ||
        fail "accepted, not refused with: $1"
    grep -qE "$1" list.log || {
        cat list.log
        fail "the error is not: $1"
    }

    OPENSSL_CONF=bad.cnf "$OPENSSL" list -providers >list.log
    grep -q '^  default' list.log
    ! grep -q '^  warprsa' list.log || fail "loaded in spite of: $1"
    OPENSSL_CONF=bad.cnf "$OPENSSL" dgst -sha256 -sign key.pem -out sig message
    plain dgst -sha256 -verify key.pem.pub -signature sig message >verify.log
}

refused colour blue 'unknown name; expected one of .*engine, route'
refused Engine host 'unknown name; expected one of'
refused engine warp '.*one of auto, cuda, ifma, host, none'
refused route both '.*one of auto, gpu, cpu'
refused slots many '.*a number from 1 to 65536'
refused slots 0 '.*a number from 1 to 65536'
refused slots 65537 '.*a number from 1 to 65536'
refused slots 12x '.*a number from 1 to 65536'
refused slots -1 '.*a number from 1 to 65536'
refused slots 99999999999999999999 '.*a number from 1 to 65536'
refused streams 33 '.*a number from 1 to 32'
refused batch_max 65537 '.*a number from 1 to 65536'
refused keys_max 1000001 '.*a number from 1 to 1000000'
refused deadline_ms 0 '.*a number from 1 to 600000'
refused startup_ms 600001 '.*a number from 0 to 600000'
refused devices 0,x '.*all, or device numbers from 0 to 15'
refused devices 16 '.*all, or device numbers from 0 to 15'
refused devices '0,,1' '.*all, or device numbers from 0 to 15'
refused trace loud '.*stderr'
refused trace stderr,level:9 '.*level'
refused trace file:/nonexistent/trace '.*(No such file|cannot|can.t)'

# The environment is checked in the same way.
configure bad.cnf "$MODULE" engine="$ENGINE"
export WARPRSA_TRACE=loud
must_fail 'WARPRSA_TRACE.*loud'
