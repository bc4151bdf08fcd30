#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A self-signed certificate and a request.
. "$(dirname "$0")/lib.sh"

rsa_key 2048 key.pem
with_provider req -x509 -new -key key.pem -subj /CN=warprsa -days 2 \
    -out certificate.pem
plain verify -CAfile certificate.pem certificate.pem
expect_engine 2048 1

with_provider req -new -key key.pem -subj /CN=warprsa -out request.pem
plain req -in request.pem -verify -noout
expect_engine 2048 1

# The default provider generates the key; this provider signs.
with_provider req -x509 -newkey rsa:3072 -nodes -keyout new.pem \
    -subj /CN=warprsa -days 2 -out new-certificate.pem 2>/dev/null
plain verify -CAfile new-certificate.pem new-certificate.pem
expect_engine 3072 1
