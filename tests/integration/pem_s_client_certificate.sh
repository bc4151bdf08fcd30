#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A TLS client authenticates with a certificate of an RSA key.
. "$(dirname "$0")/lib.sh"

rsa_key 3072 key.pem
self_signed key.pem certificate.pem
serve /dev/null /dev/null -naccept 1 -CAfile certificate.pem -Verify 1 \
    -verify_return_error -tls1_3
with_provider s_client -connect "127.0.0.1:$port" -ign_eof \
    -CAfile certificate.pem -cert certificate.pem -key key.pem \
    -verify_return_error <<<"$http_get" >client.log 2>&1
wait "$server" || :
grep -q 'HTTP/1.0 200' client.log
grep -q 'Client certificate' client.log
expect_engine 3072 1
