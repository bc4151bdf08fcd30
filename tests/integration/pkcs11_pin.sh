#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs that have a PIN in their configuration, with a token that needs none:
# pkcs11-tool, p11tool, ssh-add and Java's keytool log in by it and find the key.
# Those of them that are there, pkcs11-tool at least.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/pkcs11_programs.sh"

need pkcs11-tool
have() {
    command -v "$1" >/dev/null
}
start_token
tool() {
    p11 --login --pin 4711 --sign --label www --mechanism SHA256-RSA-PKCS \
        -i message -o sig
    verified www -sha256
}
uses 1 tool
# Nobody is a security officer.
! p11 --login --login-type so --so-pin 4711 -O >so.log 2>&1 ||
    fail "a security officer has logged in"
grep -q CKR_PIN_LOCKED so.log || fail "$(cat so.log)"

if have p11tool; then
    GNUTLS_PIN=4711 p11tool --provider "$PKCS11" --login --list-all \
        'pkcs11:token=warprsa;object=www' >list.txt 2>p11tool.log ||
        fail "$(cat p11tool.log)"
    grep -q 'type=private' list.txt || fail "$(cat list.txt)"
fi

if have ssh-agent && have ssh-add; then
    printf '#!/bin/sh\necho 4711\n' >askpass
    chmod +x askpass
    ssh-agent -D -a "$work/agent" -P "$(realpath "$PKCS11")" >agent.log 2>&1 &
    servers+=("$!")
    export SSH_AUTH_SOCK=$work/agent
    wait_for 60 test -S "$work/agent"
    SSH_ASKPASS=$work/askpass SSH_ASKPASS_REQUIRE=force \
        ssh-add -s "$PKCS11" </dev/null >add.log 2>&1 || fail "$(cat add.log)"
    ssh-add -L >keys.txt
    grep -q ' www$' keys.txt || fail "the agent has no key"
fi

if have keytool; then
    printf 'name = warprsa\nlibrary = %s\n' "$PKCS11" >token.cfg
    keytool -list -keystore NONE -storetype PKCS11 -storepass 4711 \
        -addprovider SunPKCS11 -providerarg token.cfg >keytool.log 2>&1 ||
        fail "$(cat keytool.log)"
    grep -q '^www, PrivateKeyEntry' keytool.log || fail "$(cat keytool.log)"
fi
