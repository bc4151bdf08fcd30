#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# TLS 1.2 servers: RSA key exchange is a decryption, ECDHE-RSA a signature.
. "$(dirname "$0")/lib.sh"

rsa_key 2048 key.pem
self_signed key.pem certificate.pem
serve_and_connect -tls1_2 -cipher AES128-GCM-SHA256
expect_engine 2048 1
serve_and_connect -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256
expect_engine 2048 1
