#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A certificate authority signs a request.
. "$(dirname "$0")/lib.sh"

rsa_key 4096 ca.pem
plain req -x509 -new -key ca.pem -subj /CN=authority -days 2 \
    -addext basicConstraints=critical,CA:TRUE -out ca-certificate.pem
rsa_key 2048 key.pem
plain req -new -key key.pem -subj /CN=server -out request.pem
# Without them OpenSSL 4.0 looks for extensions in the configuration, and takes
# its first lines for such.
printf '%s\n' '[server]' 'basicConstraints = CA:FALSE' >extensions.cnf
with_provider x509 -req -in request.pem -CA ca-certificate.pem -CAkey ca.pem \
    -CAcreateserial -days 2 -extfile extensions.cnf -extensions server \
    -out certificate.pem 2>/dev/null
plain verify -CAfile ca-certificate.pem certificate.pem
expect_engine 4096 1
