#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# CMS: signing, also with PSS, and decryption.
. "$(dirname "$0")/lib.sh"

echo "to be signed" >message
rsa_key 2048 key.pem
self_signed key.pem certificate.pem

with_provider cms -sign -in message -signer certificate.pem -inkey key.pem \
    -out signed.cms
plain cms -verify -in signed.cms -CAfile certificate.pem -purpose any \
    -out verified
expect_engine 2048 1

with_provider cms -sign -in message -signer certificate.pem -inkey key.pem \
    -keyopt rsa_padding_mode:pss -out signed.cms
plain cms -verify -in signed.cms -CAfile certificate.pem -purpose any \
    -out verified
expect_engine 2048 1

plain cms -encrypt -in message -aes256 -out sealed.cms certificate.pem
with_provider cms -decrypt -in sealed.cms -recip certificate.pem \
    -inkey key.pem -out opened
diff --strip-trailing-cr message opened
expect_counters provider.trace "$engine_counter=1" "${engine_counter}_2048=1" cpu=0
