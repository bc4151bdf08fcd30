#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A TLS 1.3 server: one signature per full handshake.
. "$(dirname "$0")/lib.sh"

rsa_key 2048 key.pem
self_signed key.pem certificate.pem
serve_and_connect -tls1_3
expect_engine 2048 1
