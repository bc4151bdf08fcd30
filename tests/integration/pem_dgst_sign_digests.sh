#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every digest: the signature equals the default provider's.
. "$(dirname "$0")/lib.sh"

echo "to be signed" >message
rsa_key 2048 key.pem
for digest in sha1 sha224 sha256 sha384 sha512 sha3-256; do
    with_provider dgst "-$digest" -sign key.pem -out ours message
    plain dgst "-$digest" -sign key.pem -out theirs message
    cmp ours theirs || fail "$digest: another signature than default's"
    expect_engine 2048 1
done
