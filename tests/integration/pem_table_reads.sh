#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# table_reads: signatures verify with either value, and the trace's line about
# the device says which it is.
. "$(dirname "$0")/lib.sh"

echo "to be signed" >message
for bits in 1024 2048; do
    rsa_key "$bits" "$bits.pem"
    for reads in scan direct; do
        trace=$bits.$reads.trace
        configure "$reads.cnf" "$MODULE" engine="$ENGINE" "${PATIENT[@]}" \
            "table_reads=$reads"
        CONF=$reads.cnf TRACE=$trace with_provider dgst -sha256 \
            -sign "$bits.pem" -out sig message
        plain dgst -sha256 -verify "$bits.pem.pub" -signature sig message
        expect_engine "$bits" 1 "$trace"
    done
    grep -q 'device 0: in use, .*direct reads' "$bits.direct.trace" ||
        fail "table_reads = direct, and nobody says so"
    ! grep -q direct "$bits.scan.trace" || fail "direct where it should scan"
done
