#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keys of type RSA-PSS, without and with restrictions.
. "$(dirname "$0")/lib.sh"

echo "to be signed" >message
plain genpkey -algorithm RSA-PSS -pkeyopt rsa_keygen_bits:2048 \
    -out free.pem 2>/dev/null
plain genpkey -algorithm RSA-PSS -pkeyopt rsa_keygen_bits:3072 \
    -pkeyopt rsa_pss_keygen_md:sha384 -pkeyopt rsa_pss_keygen_mgf1_md:sha384 \
    -pkeyopt rsa_pss_keygen_saltlen:48 -out restricted.pem 2>/dev/null

sign_by_digest() { # KEY BITS DIGEST
    plain pkey -in "$1" -pubout -out "$1.pub"
    with_provider dgst "-$3" -sign "$1" -out sig message
    plain dgst "-$3" -verify "$1.pub" -signature sig message
    expect_engine "$2" 1
}
sign_by_digest free.pem 2048 sha256
sign_by_digest restricted.pem 3072 sha384

# The restrictions of the key hold.
if with_provider dgst -sha256 -sign restricted.pem -out sig message 2>/dev/null
then
    fail "a restricted key signed with another digest"
fi
