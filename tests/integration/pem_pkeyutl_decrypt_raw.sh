#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Decryption without padding: nothing but the private operation.
. "$(dirname "$0")/lib.sh"

for bits in 1024 1536 2050 3072 4096; do
    rsa_key "$bits" key.pem
    bytes=$(((bits + 7) / 8))
    { printf '\0\1'; head -c $((bytes - 2)) /dev/urandom; } >number
    with_provider pkeyutl -decrypt -inkey key.pem -in number -out power \
        -pkeyopt rsa_padding_mode:none
    plain pkeyutl -encrypt -pubin -inkey key.pem.pub -in power \
        -pkeyopt rsa_padding_mode:none -out back
    cmp number back || fail "$bits: another number came back"
    expect_engine "$bits" 1
done
