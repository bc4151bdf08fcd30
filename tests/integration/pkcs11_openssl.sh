#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# openssl by pkcs11-provider with the keys of the daemon: signatures,
# decryption, a request for a certificate; by a URI and by a file that has it.
# The recipe of doc/pkcs11.md.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/pkcs11_provider.sh"

start_token

signs_by() { # KEY DGST-OPTION...
    by_token "$OPENSSL" dgst -sign "$@" -out sig message >openssl.log 2>&1 ||
        fail "$(cat openssl.log)"
    verified www "${@:2}"
}
for key in "$WWW" www.uri.pem; do
    uses 1 signs_by "$key" -sha256
    uses 1 signs_by "$key" -sha512
    uses 1 signs_by "$key" -sha256 -sigopt rsa_padding_mode:pss \
        -sigopt rsa_pss_saltlen:32
done

decrypts() { # PKEYUTL-OPTION...
    plain pkeyutl -encrypt -pubin -inkey www.pub -in message -out secret "$@"
    by_token "$OPENSSL" pkeyutl -decrypt -inkey "$WWW" -in secret -out got "$@" \
        >openssl.log 2>&1 || fail "$(cat openssl.log)"
    cmp got message
}
# pkcs11-provider has no default of these two.
uses 1 decrypts -pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256 \
    -pkeyopt rsa_mgf1_md:sha256
uses 1 decrypts

requests() {
    by_token "$OPENSSL" req -new -key "$WWW" -subj /CN=localhost -out www.csr \
        >openssl.log 2>&1 || fail "$(cat openssl.log)"
    plain req -verify -noout -in www.csr >verified.log 2>&1 ||
        fail "$(cat verified.log)"
}
uses 1 requests

# Control: another key has no such signature, and a key that is not there none.
plain genpkey -algorithm RSA -out other.pem 2>/dev/null
plain pkey -in other.pem -pubout -out other.pub
! plain dgst -sha256 -verify other.pub -signature sig message \
    >control.log 2>&1 ||
    fail "anything is verified"
! by_token "$OPENSSL" dgst -sha256 -sign "${WWW/www/none}" -out sig message \
    >control.log 2>&1 || fail "a key that is not there signs"
[ "$(live "$daemon" checks_failed)" = 0 ] || fail "checks failed"
