#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A PEM key of every usual size and of odd ones signs with PKCS#1 v1.5.
. "$(dirname "$0")/lib.sh"

echo "to be signed" >message
for bits in 1024 1536 2048 3072 4096 2050 3330; do
    rsa_key "$bits" "$bits.pem"
    with_provider dgst -sha256 -sign "$bits.pem" -out "$bits.sig" message
    plain dgst -sha256 -verify "$bits.pem.pub" -signature "$bits.sig" message
    expect_engine "$bits" 1
done
