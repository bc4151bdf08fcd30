#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Wrong results, which only a module broken on purpose lets out, don't pass.
. "$(dirname "$0")/lib.sh"

[ -e "$FAULTY_MODULE" ] || skip "no $FAULTY_MODULE"
export MODULE=$FAULTY_MODULE WARPRSA_FAULT=flip,unchecked
for mix in pkcs1 bare pss; do
    status=0
    load --in-flight=4 --mix=$mix --subject="engine $ON_ENGINE" \
        2>complaints || status=$?
    [ "$status" -eq 1 ] || fail "exit status $status with wrong results"
    grep -q "verified were wrong" complaints || fail "no complaint"
    check "1 rows" "gpu == started" "wrong == verified == started > 0" \
        "failed == lost == 0"
done

# An OAEP ciphertext decrypted wrongly is no OAEP message: OpenSSL says so.
status=0
load --in-flight=4 --mix=oaep --subject="engine $ON_ENGINE" || status=$?
[ "$status" -eq 1 ] || fail "exit status $status with failed operations"
check "1 rows" "gpu == started" "failed == started > 0" "wrong == lost == 0"
