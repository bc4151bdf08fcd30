#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs with a libcrypto of their own, linked statically. One that keeps it
# to itself uses the provider for signatures, encrypts and decrypts by its own,
# and sees the same results and errors as without it. One that exports it would
# mix it with ours: it does without the provider, and the trace has one line that
# says why.
. "$(dirname "$0")/lib.sh"

programs=$BUILD_DIR/tests/integration
[ -x "$programs/key_life_static" ] || skip "no static libcrypto here"

use() { # PROGRAM CONFIGURATION [ARGUMENT]: its output must be default's
    rm -f own.trace
    "$programs/$1" ${3:+"$3"} >plain.out
    OPENSSL_CONF=$2 WARPRSA_TRACE=file:$work/own.trace \
        "$programs/$1" ${3:+"$3"} >own.out || fail "$1 $2: exit status $?"
    cmp plain.out own.out || fail "$1 $2: another output than without"
}

configure auto.cnf "$MODULE" engine="$ENGINE"
configure cpu.cnf "$MODULE" engine=none route=cpu
for end in "" late; do
    use key_life_static openssl.cnf $end
    expect_counters own.trace gpu=4 cpu=0 checks_failed=0
    grep -q 'provider loaded; the caller has another libcrypto' own.trace
    use key_life_static cpu.cnf $end
    expect_counters own.trace gpu=0 cpu=4 cpu_route=4
    use key_life_static auto.cnf $end
    expect_counters own.trace cpu_error=0 checks_failed=0

    use key_life_exporting openssl.cnf $end
    [ "$(wc -l <own.trace)" = 1 ] || fail "more than one line in the trace"
    grep -q 'not loaded: this process mixes two copies of libcrypto' own.trace
done

# It encrypts and decrypts by its own libcrypto. A signature is verified here:
# libcrypto has one provider for both.
OPENSSL_CONF=openssl.cnf WARPRSA_TRACE=file:$work/public.trace \
    "$programs/key_life_static" public >own.out
expect_counters public.trace gpu=1 cpu=0 checks_failed=0
by() { # PROVIDER WHAT...
    for what in "${@:2}"; do
        grep -qx "$what by $1" own.out || fail "$what not by $1: $(cat own.out)"
    done
}
by default encrypted decrypted
by warprsa verified
diff <("$programs/key_life_static" public | grep -v ' by ') \
    <(grep -v ' by ' own.out) || fail "another output than without"
# The control: a program with our libcrypto has all of them here.
OPENSSL_CONF=openssl.cnf "$programs/key_life" public >own.out
by warprsa encrypted decrypted verified
