#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Wrong results, which only a module broken on purpose lets out, don't pass.
. "$(dirname "$0")/lib.sh"

[ -e "$FAULTY_MODULE" ] || skip "no $FAULTY_MODULE"
export MODULE=$FAULTY_MODULE WARPRSA_FAULT=flip,unchecked
# Some of it, however often the machine stands still.
load_wrongly() { # LOAD-ARGUMENT...
    local status=0
    until [ "$status" -ne 0 ]; do
        load --in-flight=4 "$@" --subject="engine $ON_ENGINE" 2>complaints ||
            status=$?
        [ "$status" -ne 0 ] || check "started == 0"
    done
    [ "$status" -eq 1 ] || fail "exit status $status with wrong results"
}

for mix in pkcs1 bare pss; do
    load_wrongly --mix=$mix
    grep -q "verified were wrong" complaints || fail "no complaint"
    check "1 rows" "gpu == started" "wrong == verified == started > 0" \
        "failed == lost == 0"
done

# An OAEP ciphertext decrypted wrongly is no OAEP message: OpenSSL says so.
load_wrongly --mix=oaep
check "1 rows" "gpu == started" "failed == started > 0" "wrong == lost == 0"
