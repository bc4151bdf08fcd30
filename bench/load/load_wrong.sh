#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The generator finds wrong results, which only a module that was broken on
# purpose gives.
. "$(dirname "$0")/lib.sh"

[ -e "$FAULTY_MODULE" ] || skip "no $FAULTY_MODULE"
export MODULE=$FAULTY_MODULE WARPRSA_FAULT=flip,unchecked
# Repeated until an operation was made: the machine may stop for a while.
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

# A wrongly decrypted OAEP ciphertext is no OAEP message: the operation fails.
load_wrongly --mix=oaep
check "1 rows" "gpu == started" "failed == started > 0" "wrong == lost == 0"
