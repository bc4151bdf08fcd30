# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests of programs that use the PKCS #11 module share; each sources this
# after lib.sh.
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"
. "$SOURCE_DIR/tests/integration/pkcs11.sh"

: "${work:?}" "${ME:?}" "${http_get:?}"
ANYTHING="sign decrypt padding=pkcs1,pss,oaep,none digest=any"

# certified NAME BITS: a key of the vault with a chain of two certificates, for
# localhost. The authority is in ca.pem.
certified() {
    vault_key "$1" "$2"
    [ -e ca.pem ] || plain req -x509 -new -newkey rsa:2048 -nodes -days 2 \
        -keyout ca.key -subj /CN=authority -out ca.pem \
        -addext basicConstraints=critical,CA:TRUE \
        -addext subjectKeyIdentifier=hash 2>/dev/null
    plain req -new -key "keys/$1.pem" -subj "/CN=$1" -out "$1.csr"
    printf '%s\n' subjectAltName=DNS:localhost basicConstraints=CA:FALSE \
        subjectKeyIdentifier=hash authorityKeyIdentifier=keyid >ext.cnf
    plain x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial \
        -days 2 -extfile ext.cnf -out "$1.crt" 2>/dev/null
    cat "$1.crt" ca.pem >"keys/$1.crt"
}

# A daemon with the key www of RSA-2048, which this user may use for anything
# (unless RULE... are others), and with the message that the tests sign.
start_token() { # RULE...
    [ $# -gt 0 ] || set -- "$ANYTHING"
    certified www 2048
    printf "www user=$ME %s\n" "$@" >keys.conf
    echo "to be signed" >message
    start_vault
}

# Makes one handshake with a server that has the key www, and ends by itself.
shakes() { # PORT S_CLIENT-OPTION...
    local port=$1
    shift
    timeout 60 "$OPENSSL" s_client -connect "localhost:$port" -CAfile ca.pem \
        -verify_return_error -verify_hostname localhost -ign_eof "$@" \
        <<<"$http_get" >client.log 2>&1 || :
    grep -q 'Verify return code: 0' client.log || fail "$(cat client.log)"
}
