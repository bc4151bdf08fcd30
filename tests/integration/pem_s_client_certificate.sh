#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A TLS client proves itself with an RSA key.
. "$(dirname "$0")/lib.sh"

rsa_key 3072 key.pem
self_signed key.pem certificate.pem
port=$(free_port)
plain s_server -accept "$port" -naccept 1 -cert certificate.pem -key key.pem \
    -CAfile certificate.pem -Verify 1 -verify_return_error -tls1_3 \
    </dev/null >server.log 2>&1 &
servers+=($!)
wait_for 30 grep -q ACCEPT server.log
echo Q | with_provider s_client -connect "127.0.0.1:$port" \
    -CAfile certificate.pem -cert certificate.pem -key key.pem \
    -verify_return_error >client.log 2>&1
wait "${servers[-1]}"
servers=()
grep -q 'Verify return code: 0' client.log
grep -q 'Client certificate' server.log
expect_engine 3072 1
