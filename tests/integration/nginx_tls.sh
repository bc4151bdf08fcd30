#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conf/nginx.conf as it stands, a real nginx: TLS 1.3, TLS 1.2 and RSA key
# exchange, several certificates and variable ones, before and after a reload,
# each handshake one private operation in the daemon, batched over workers.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

prepare_nginx
start_daemon
start_nginx
handshakes 8443 4 -tls1_3
handshakes 8443 4 -tls1_2 -cipher AES128-GCM-SHA256
handshakes 8443 4 -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256
nginx_with_provider -s reload
handshakes 8443 4 -tls1_3
many=(--clients=32 --count=100)
load 8443 "${many[@]}"
load 8443 "${many[@]}" --tls=1.2 --cipher=AES256-GCM-SHA384
load 8443 "${many[@]}" --names=localhost,second.example
load 8444 "${many[@]}" --names=one.example,two.example
load 8444 "${many[@]}" --names=one.example,two.example --tls=1.2 \
    --cipher=AES256-GCM-SHA384
stop_nginx
nginx_is_content
# A GPU answers too fast for large batches.
least=4
[ "$ENGINE" != cuda ] || least=2
expect_served 516 "$least"
