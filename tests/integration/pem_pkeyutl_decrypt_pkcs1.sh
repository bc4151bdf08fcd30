#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PKCS #1 v1.5 decryption. The result for a damaged ciphertext is that of the
# default provider.
. "$(dirname "$0")/lib.sh"

echo "a secret" >message
for bits in 1024 2048 3072 4096 3330; do
    rsa_key "$bits" key.pem
    plain pkeyutl -encrypt -pubin -inkey key.pem.pub -in message -out sealed
    with_provider pkeyutl -decrypt -inkey key.pem -in sealed -out opened
    cmp message opened || fail "$bits: another message came back"
    expect_engine "$bits" 1
done

# Implicit rejection, where OpenSSL has it, returns an invented message, which
# depends on the key and the ciphertext alone.
damage sealed
ours=0
theirs=0
with_provider pkeyutl -decrypt -inkey key.pem -in sealed -out ours.bin \
    2>/dev/null || ours=$?
plain pkeyutl -decrypt -inkey key.pem -in sealed -out theirs.bin \
    2>/dev/null || theirs=$?
[ $ours -eq $theirs ] || fail "default's status was $theirs, ours $ours"
[ $theirs -ne 0 ] || cmp ours.bin theirs.bin || fail "another made-up message"
expect_engine 3330 1
