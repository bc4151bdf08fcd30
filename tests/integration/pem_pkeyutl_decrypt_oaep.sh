#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OAEP decryption.
. "$(dirname "$0")/lib.sh"

echo "a secret" >message
for bits in 1024 2048 3072 4096 3330; do
    rsa_key "$bits" key.pem
    plain pkeyutl -encrypt -pubin -inkey key.pem.pub -in message -out sealed \
        -pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256
    with_provider pkeyutl -decrypt -inkey key.pem -in sealed -out opened \
        -pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256
    cmp message opened || fail "$bits: another message came back"
    expect_engine "$bits" 1
done

# A damaged ciphertext is an error, after one operation on the engine.
damage sealed
if with_provider pkeyutl -decrypt -inkey key.pem -in sealed -out opened \
    -pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256 2>/dev/null; then
    fail "a damaged message was decrypted"
fi
expect_engine 3330 1
