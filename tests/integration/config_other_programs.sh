#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# With the provider configured for the whole machine, programs that need nothing
# of it work as before.
. "$(dirname "$0")/lib.sh"

with_provider genrsa -out rsa.pem 2048 2>/dev/null
with_provider rsa -in rsa.pem -check -noout | grep 'RSA key ok'
with_provider pkey -in rsa.pem -aes256 -passout pass:word -out locked.pem
with_provider pkey -in locked.pem -passin pass:word -out unlocked.pem
cmp rsa.pem unlocked.pem || diff <(plain rsa -in rsa.pem -text -noout) \
    <(plain rsa -in unlocked.pem -text -noout)
with_provider pkey -in rsa.pem -pubout -out public.pem
with_provider rsa -in rsa.pem -traditional -out traditional.pem 2>/dev/null

self_signed rsa.pem certificate.pem
with_provider x509 -in certificate.pem -noout -text >/dev/null
with_provider verify -CAfile certificate.pem certificate.pem
with_provider pkcs12 -export -in certificate.pem -inkey rsa.pem \
    -passout pass:word -out bundle.p12
with_provider pkcs12 -in bundle.p12 -passin pass:word -nodes -out bundle.pem

echo "a message" >message
plain dgst -sha256 -sign rsa.pem -out sig message
with_provider dgst -sha256 -verify public.pem -signature sig message
with_provider pkeyutl -encrypt -pubin -inkey public.pem -in message -out sealed
plain pkeyutl -decrypt -inkey rsa.pem -in sealed | cmp - message

[ "$(with_provider dgst -sha256 message)" = "$(plain dgst -sha256 message)" ]
[ "$(with_provider dgst -sha3-512 message)" = \
    "$(plain dgst -sha3-512 message)" ]
with_provider rand -hex 16 >/dev/null
with_provider enc -aes-128-cbc -pbkdf2 -pass pass:word -in message |
    plain enc -d -aes-128-cbc -pbkdf2 -pass pass:word | cmp - message
for curve in P-256 P-384; do
    with_provider genpkey -algorithm EC -pkeyopt "ec_paramgen_curve:$curve" \
        -out ec.pem
    with_provider dgst -sha256 -sign ec.pem -out sig message
    plain dgst -sha256 -prverify ec.pem -signature sig message
done
with_provider genpkey -algorithm ED25519 -out ed.pem
with_provider req -x509 -new -key ed.pem -subj /CN=ed -days 2 -out ed.crt
plain verify -CAfile ed.crt ed.crt

# The provider was loaded into each of these programs.
programs=$(grep -o '^warprsa\[[0-9]*\] provider loaded' provider.trace |
    sort -u | wc -l)
[ "$programs" -eq 22 ] || fail "loaded into $programs programs, not 22"
