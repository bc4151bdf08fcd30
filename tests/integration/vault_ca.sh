#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recipe for a certificate authority in doc/vault.md, with conf/ca.cnf as it
# stands: certificates and a list of revoked ones, verified by processes without
# warprsa, by a key that "openssl ca" never has. It asks before it writes what it
# has signed: then its memory is searched for the key. The control is the same
# with the key itself.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"
. "$SOURCE_DIR/tests/integration/recipes.sh"

vault_key ca 3072
cp "$SOURCE_DIR/conf/ca.cnf" .
recipe_rules ca | sed "s/user=root/user=$ME/" >keys.conf
start_vault
run_recipe ca
plain verify -CAfile ca.pem -x509_strict ca.pem
used 1

request() { # NAME
    plain req -new -newkey rsa:2048 -nodes -keyout "$1.key" -out www.csr \
        -subj "/CN=$1" -addext "subjectAltName=DNS:$1" 2>/dev/null
}

asks() { # QUESTION: what openssl ca has written so far ends with
    grep -q "$1" signing.log
}

# Signs www.csr, and scans the process that has signed. "openssl ca" takes its
# answers from a pipe. It writes "[y/n]" for each question at once.
sign_and_scan() { # SCAN KEY
    local signing
    mkfifo answers
    recipe_commands sign | sed 's/^/exec /' >commands.sh
    OPENSSL_CONF=$work/openssl.cnf bash -e commands.sh \
        <answers >signing.log 2>&1 &
    signing=$!
    exec 3>answers
    rm answers
    echo y >&3
    wait_for 60 asks 'commit?'
    "$1" "$2" "$signing"
    echo y >&3
    exec 3>&-
    wait "$signing" || fail "$(cat signing.log)"
    plain verify -CAfile ca.pem -x509_strict www.crt
    plain x509 -in www.crt -noout -ext subjectAltName >names.txt
}
request one.example
sign_and_scan has_no_key keys/ca.pem
grep -q DNS:one.example names.txt
used 2
run_recipe revoked
plain crl -in ca.crl -CAfile ca.pem -noout 2>verified
grep -q 'verify OK' verified
used 3

# What the rules don't allow: another digest.
request two.example
! with_provider ca -config ca.cnf -md sha512 -batch -in www.csr -out not.crt \
    2>error || fail "it has signed by SHA-512"
grep -q 'key ca: denied to .*: sign, padding pkcs1, digest sha512' daemon.log

cp keys/ca.pem ca.key
sign_and_scan has_key keys/ca.pem
