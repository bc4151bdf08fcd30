#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Go's github.com/miekg/pkcs11 with the keys of the daemon, and crypto11 where
# Debian has it: signatures by many goroutines, with a session each or from
# crypto11's pool. The recipe of doc/pkcs11.md.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/pkcs11_programs.sh"

need go
[ -d /usr/share/gocode/src/github.com/miekg/pkcs11 ] ||
    skip "no golang-github-miekg-pkcs11-dev here"
start_token "sign padding=pkcs1,pss digest=sha256"
export GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS=-p=2
export GOCACHE=$BUILD_DIR/tests/integration/go-cache
signs_by() { # SOURCE
    go build -o user "$SOURCE_DIR/tests/integration/$1" >go.log 2>&1 ||
        fail "$(cat go.log)"
    rm -rf signatures
    mkdir signatures
    uses 160 ./user "$PKCS11" www 32 4 message signatures
    for file in signatures/*; do
        cp "$file" sig
        case $file in
        *.pss) verified www -sha256 -sigopt rsa_padding_mode:pss ;;
        *) verified www -sha256 ;;
        esac
    done
    [ "$(find signatures -type f | wc -l)" = 160 ] || fail "some are missing"
}
signs_by pkcs11_user.go
if [ -d /usr/share/gocode/src/github.com/ThalesIgnite/crypto11 ]; then
    signs_by pkcs11_crypto11.go
else
    echo "without crypto11: no golang-github-thalesignite-crypto11-dev here"
fi
