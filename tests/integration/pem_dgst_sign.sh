#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A PEM key of every usual size and of odd ones signs with PKCS #1 v1.5.
. "$(dirname "$0")/lib.sh"

for bits in 1024 1536 2048 3072 4096 2050 3330; do
    rsa_key "$bits" "$bits.pem"
    sign_and_verify "$bits.pem"
    expect_engine "$bits" 1
done
