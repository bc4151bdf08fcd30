#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conf/haproxy.cfg as it stands, a real haproxy with async handshakes: TLS 1.3
# and TLS 1.2, many at once, each a private operation on the engine.
. "$(dirname "$0")/lib.sh"

need haproxy
cp "$SOURCE_DIR/conf/haproxy.cfg" .
rsa_key 2048 key.pem
self_signed key.pem certificate.pem
cat certificate.pem key.pem >server.pem

OPENSSL_CONF=$work/openssl.cnf WARPRSA_TRACE=file:$work/provider.trace \
    haproxy -f haproxy.cfg -C "$work" -db >haproxy.log 2>&1 &
servers=($!)
wait_for 30 answers 9443
before=1

handshakes 9443 4 -tls1_3
handshakes 9443 4 -tls1_2 -cipher AES128-GCM-SHA256
clients=()
for _ in 1 2 3 4 5 6 7 8; do
    handshakes 9443 2 -tls1_3 &
    clients+=($!)
done
for client in "${clients[@]}"; do
    wait "$client"
done
kill -USR1 "${servers[0]}"
wait "${servers[0]}" || :
servers=()
total=$((before + 4 + 4 + 16))
expect_totals gpu=$total gpu_2048=$total cpu=0 checks_failed=0
