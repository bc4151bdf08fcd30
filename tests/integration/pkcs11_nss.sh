#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# NSS with the keys of the daemon: modutil adds the module, certutil lists keys
# and certificates, cmsutil signs. The recipe of doc/pkcs11.md.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/pkcs11_programs.sh"

need modutil certutil cmsutil
start_token
mkdir nss
: >empty
nss() { # PROGRAM ARGUMENT...: with the database nss/
    local program=$1
    shift
    "$program" -d sql:nss "$@" >nss.log 2>&1 ||
        fail "$program $*: $(cat nss.log)"
}
nss certutil -N --empty-password
modutil -force -dbdir sql:nss -add warprsa -libfile "$PKCS11" >nss.log 2>&1 ||
    fail "$(cat nss.log)"
nss certutil -A -n authority -t C,C,C -i ca.pem
modutil -dbdir sql:nss -list warprsa >nss.log 2>&1 || fail "$(cat nss.log)"
grep -q 'Token Name: warprsa *$' nss.log || fail "$(cat nss.log)"
nss certutil -L -h warprsa
grep -q '^warprsa:www .*u,u,u' nss.log || fail "$(cat nss.log)"
nss certutil -K -h warprsa
grep -q 'rsa .*www' nss.log || fail "$(cat nss.log)"

sign() {
    nss cmsutil -S -N "warprsa:www" -H SHA256 -i message -o signed.cms
    plain cms -verify -inform DER -in signed.cms -CAfile ca.pem \
        -purpose any -out got 2>cms.log || fail "$(cat cms.log)"
    cmp got message
}
uses 1 sign
