#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A digest that the program has from its legacy provider, and our own library
# context has not: the signature equals the default provider's, and fails as
# with default where the program has not loaded the legacy provider.
. "$(dirname "$0")/lib.sh"

plain list -digest-algorithms -provider legacy >/dev/null 2>&1 ||
    skip "no legacy provider here"
providers=(-provider legacy -provider default)
echo "to be signed" >message
rsa_key 2048 key.pem

with_provider dgst "${providers[@]}" -md4 -sign key.pem -out ours message
plain dgst "${providers[@]}" -md4 -sign key.pem -out theirs message
cmp ours theirs || fail "dgst: another signature than default's"
expect_engine 2048 1
with_provider dgst "${providers[@]}" -md4 -verify key.pem.pub \
    -signature theirs message

# The digest is named when the operation has begun; the padding before it.
head -c 16 key.pem >digest
for padding in pkcs1 pss; do
    options=(-pkeyopt "rsa_padding_mode:$padding" -pkeyopt digest:md4)
    with_provider pkeyutl "${providers[@]}" -sign -inkey key.pem -in digest \
        "${options[@]}" -out "ours.$padding"
    expect_engine 2048 1
    plain pkeyutl "${providers[@]}" -verify -pubin -inkey key.pem.pub \
        -in digest "${options[@]}" -sigfile "ours.$padding"
done
cmp ours.pkcs1 <(plain pkeyutl "${providers[@]}" -sign -inkey key.pem \
    -in digest -pkeyopt digest:md4) || fail "pkeyutl: another signature"

# A digest of MGF1, after the operation's own.
options=(-sigopt rsa_padding_mode:pss -sigopt rsa_mgf1_md:md4
    -sigopt rsa_pss_saltlen:7)
with_provider dgst "${providers[@]}" -sha256 "${options[@]}" -sign key.pem \
    -out ours.mgf1 message
expect_engine 2048 1
plain dgst "${providers[@]}" -sha256 "${options[@]}" -verify key.pem.pub \
    -signature ours.mgf1 message

# A digest of MGF1 that is named, and is the signature's until that changes.
options=(-pkeyopt rsa_padding_mode:pss -pkeyopt digest:sha256
    -pkeyopt rsa_mgf1_md:sha256 -pkeyopt digest:md4)
with_provider pkeyutl "${providers[@]}" -sign -inkey key.pem -in digest \
    "${options[@]}" -out ours.named
expect_engine 2048 1
plain pkeyutl "${providers[@]}" -verify -pubin -inkey key.pem.pub -in digest \
    "${options[@]}" -sigfile ours.named

# OAEP with such a digest and a label, both set when the operation has begun.
options=(-pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_label:6c6162656c
    -pkeyopt rsa_oaep_md:md4)
plain pkeyutl "${providers[@]}" -encrypt -pubin -inkey key.pem.pub \
    -in message "${options[@]}" -out sealed
with_provider pkeyutl "${providers[@]}" -decrypt -inkey key.pem -in sealed \
    "${options[@]}" -out opened
cmp message opened || fail "OAEP: decrypted another text"
expect_engine 2048 1

# The label before the padding.
with_provider pkeyutl "${providers[@]}" -decrypt -inkey key.pem -in sealed \
    -pkeyopt rsa_oaep_label:6c6162656c -pkeyopt rsa_oaep_md:md4 \
    -pkeyopt rsa_padding_mode:oaep -out opened.late
cmp message opened.late || fail "OAEP: decrypted another text"
expect_engine 2048 1

! with_provider dgst -md4 -sign key.pem -out none message 2>errors ||
    fail "signed with a digest that the program does not have"
grep -q 'could not be fetched\|unsupported' errors
