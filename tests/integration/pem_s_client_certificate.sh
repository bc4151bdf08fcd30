#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A TLS client proves itself with an RSA key.
. "$(dirname "$0")/lib.sh"

rsa_key 3072 key.pem
self_signed key.pem certificate.pem
port=$(free_port)
"$OPENSSL" s_server -accept "$port" -naccept 1 -www -cert certificate.pem \
    -key key.pem -CAfile certificate.pem -Verify 1 -verify_return_error \
    -tls1_3 </dev/null >server.log 2>&1 &
servers=($!)
wait_for 60 grep -q ACCEPT server.log
printf 'GET / HTTP/1.0\r\n\r\n' |
    with_provider s_client -connect "127.0.0.1:$port" -ign_eof \
        -CAfile certificate.pem -cert certificate.pem -key key.pem \
        -verify_return_error >client.log 2>&1
wait "${servers[0]}" || :
servers=()
grep -q 'HTTP/1.0 200' client.log
grep -q 'Client certificate' client.log
expect_engine 3072 1
