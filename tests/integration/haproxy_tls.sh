#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conf/haproxy.cfg as it stands, a real haproxy with async handshakes: TLS 1.3,
# TLS 1.2 and RSA key exchange, several certificates, a thousand clients at
# once on a GPU. The engine on the CPU gets fewer: the recipe's timeouts of 30 s
# hold for the last of them on a slow machine, too. Each handshake is one
# private operation on the engine. haproxy does not run as root.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

prepare_haproxy
start_daemon
start_haproxy
handshakes 9443 4 -tls1_3
[ "$(ps -o user= -p "$haproxy")" = haproxy ] || fail "haproxy is root"
handshakes 9443 4 -tls1_2 -cipher AES128-GCM-SHA256
handshakes 9443 4 -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256
both=("--names=localhost,second.example")
case $ENGINE in
cuda) clients=1000 count=1500 ;;
*) clients=200 count=400 ;;
esac
load 9443 "${both[@]}" --clients="$clients" --count="$count"
load 9443 "${both[@]}" --clients=100 --count=300 --tls=1.2 \
    --cipher=AES256-GCM-SHA384
stop_haproxy
all=$((4 + 4 + 4 + count + 300))
least=16
sees_jobs || least=1
expect_served "$all" "$least"
