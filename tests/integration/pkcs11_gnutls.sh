#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# GnuTLS with the keys of the daemon: p11tool lists them, certtool signs, and
# gnutls-serv serves TLS 1.3 and 1.2. The recipe of doc/pkcs11.md.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/pkcs11_programs.sh"

need p11tool certtool gnutls-serv
start_token
p11tool --provider "$PKCS11" --list-tokens >tokens.txt 2>&1
url=$(sed -n 's/^.*URL: \(pkcs11:.*token=warprsa.*\)$/\1/p' tokens.txt)
[ -n "$url" ] || fail "$(cat tokens.txt)"
p11tool --provider "$PKCS11" --list-all "$url" >objects.txt 2>&1
for kind in private public cert; do
    grep -q "object=www;type=$kind" objects.txt || fail "$(cat objects.txt)"
done
p11tool --provider "$PKCS11" --export "$url;object=www;type=cert" \
    >got.pem 2>export.log || fail "$(cat export.log)"
cmp <(plain x509 -in got.pem) <(plain x509 -in www.crt)

request() {
    printf 'cn = www\n' >template
    certtool --provider "$PKCS11" --generate-request --template template \
        --load-privkey "$url;object=www;type=private" \
        --load-pubkey "$url;object=www;type=public" \
        --outfile www.csr >certtool.log 2>&1 || fail "$(cat certtool.log)"
    plain req -verify -in www.csr -noout 2>/dev/null || fail "$(cat www.csr)"
}
uses 1 request

# The port is free a moment before.
port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
gnutls-serv --provider "$PKCS11" --port "$port" --http \
    --x509keyfile "$url;object=www;type=private" \
    --x509certfile "$url;object=www;type=cert" >serv.log 2>&1 </dev/null &
servers+=("$!")
listens() {
    (exec 3<>"/dev/tcp/127.0.0.1/$port")
}
wait_for 60 listens
uses 1 shakes "$port" -tls1_3
uses 1 shakes "$port" -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256
