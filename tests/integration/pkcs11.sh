# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests of the PKCS #11 module share; each sources this after vault.sh.
# They need opensc's pkcs11-tool.

: "${engine_counter:?lib.sh comes first}" "${work:?}"
PKCS11=$BUILD_DIR/pkcs11/warprsa-pkcs11.so
[ -e "$PKCS11" ] || skip "no PKCS #11 module in this build"
export WARPRSA_SOCKET=$work/warprsad.sock

p11() { # PKCS11-TOOL-ARGUMENT...
    pkcs11-tool --module "$PKCS11" "$@"
}

# certificate_of NAME [CA]: keys/NAME.crt of a key of the vault, of itself or of
# the key CA, whose certificate follows.
certificate_of() {
    local name=$1 ca=${2:-}
    if [ -z "$ca" ]; then
        plain req -x509 -new -key "keys/$name.pem" -subj "/CN=$name" -days 2 \
            -out "$name.crt"
        cp "$name.crt" "keys/$name.crt"
    else
        plain req -new -key "keys/$name.pem" -subj "/CN=$name" -out "$name.csr"
        plain x509 -req -in "$name.csr" -CA "$ca.crt" -CAkey "keys/$ca.pem" \
            -days 2 -out "$name.crt" 2>/dev/null
        cat "$name.crt" "$ca.crt" >"keys/$name.crt"
    fi
}
