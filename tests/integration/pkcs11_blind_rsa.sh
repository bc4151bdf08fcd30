#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Blind signatures (RFC 9474): the issuer's part is a private operation with any
# number. The vectors of the RFC, by CKM_RSA_X_509 through the PKCS #11 module
# and by a raw signature through the provider. openssl verifies what a client
# makes of them. The recipe of doc/pkcs11.md.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/pkcs11_programs.sh"

need pkcs11-tool python3
vectors=$SOURCE_DIR/tests/integration/rfc9474.txt
blind_rsa() { # ARGUMENT...: of blind_rsa.py
    python3 "$SOURCE_DIR/tests/integration/blind_rsa.py" "$vectors" "$@"
}
blind_rsa key >key.cnf
plain asn1parse -genconf key.cnf -noout -out key.der
(
    umask 077
    plain pkey -inform DER -in key.der -out keys/issuer.pem
)
plain pkey -in keys/issuer.pem -pubout -out issuer.pub
echo "issuer user=$ME sign padding=none" >keys.conf
start_vault
reference issuer

by_module() { # BLINDED OUTPUT
    pkcs11-tool --module "$PKCS11" --sign --label issuer \
        --mechanism RSA-X-509 --input-file "$1" --output-file "$2" \
        >tool.log 2>&1 || fail "$(cat tool.log)"
}
by_provider() { # BLINDED OUTPUT
    with_provider rsautl -sign -raw -inkey issuer.ref -in "$1" -out "$2" \
        2>rsautl.log || fail "$(cat rsautl.log)"
}

# The variants' lengths of a salt, in the order of the vectors.
salts=(48 0 48 0)
issues() { # HOW
    local i
    mkdir "$1"
    blind_rsa messages "$1"
    for i in 0 1 2 3; do
        "$1" "$1/$i.blinded" "$1/$i.signed"
    done
    blind_rsa unblind "$1"
    for i in 0 1 2 3; do
        plain dgst -sha384 -verify issuer.pub -signature "$1/$i.sig" \
            -sigopt rsa_padding_mode:pss -sigopt "rsa_mgf1_md:sha384" \
            -sigopt "rsa_pss_saltlen:${salts[i]}" "$1/$i.message" >verified.log ||
            fail "vector $i is not verified"
    done
}
uses 4 issues by_module
uses 4 issues by_provider

# An issuer with many threads.
issuer() { # THREADS BLINDED SIGNED
    "$BUILD_DIR/tests/integration/blind_issuer" "$PKCS11" issuer "$1" \
        <"$2" >"$3" 2>issuer.log
}
issue_many() {
    issuer 16 many.blinded many.signed || fail "$(cat issuer.log)"
}
blind_rsa many 64 many.blinded
uses 64 issue_many
blind_rsa signed many.blinded many.signed

# Controls: a message that has another one's signature; a signature that is not
# unblinded; a number above the modulus, beside which the others are signed.
{
    tail -c 512 many.signed
    tail -c +513 many.signed
} >wrong.signed
! blind_rsa signed many.blinded wrong.signed 2>signed.log ||
    fail "any signature is right"
! plain dgst -sha384 -verify issuer.pub -signature by_module/0.signed \
    -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:48 \
    by_module/0.message >verified.log 2>&1 || fail "anything is verified"
head -c 512 /dev/zero | tr '\0' '\377' >large
! pkcs11-tool --module "$PKCS11" --sign --label issuer --mechanism RSA-X-509 \
    --input-file large --output-file large.sig >tool.log 2>&1 ||
    fail "a number above the modulus is signed"
cat large many.blinded >above.blinded
! issuer 16 above.blinded above.signed || fail "the issuer signs any number"
[ "$(cat issuer.log)" = "blind_issuer: message 0: not below the modulus" ] ||
    fail "$(cat issuer.log)"
tail -c +513 above.signed | cmp - many.signed
[ "$(live "$daemon" checks_failed)" = 0 ] || fail "checks failed"
