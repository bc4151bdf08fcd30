#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conf/apache.conf as it stands, a real Apache: TLS 1.3, TLS 1.2 and RSA key
# exchange, a hundred clients at once. Each handshake is one private operation
# in the daemon, and there are batches although each thread waits for its
# operation.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

apache_with_provider() {
    "${with_configuration[@]}" apache2 -d "$work" -f "$work/apache.conf" "$@"
}
stop_apache() {
    local pid
    pid=$(cat apache.pid 2>/dev/null) || return 0
    kill -WINCH "$pid"
    wait_for 120 gone "$pid"
}
at_end() {
    stop_apache
}
prepare_threads apache2 apache.conf
start_daemon
apache_with_provider
wait_for 60 listening 10443
handshakes 10443 4 -tls1_3
handshakes 10443 4 -tls1_2 -cipher AES128-GCM-SHA256
load 10443 --clients=100 --count=400
load 10443 --clients=100 --count=200 --tls=1.2 --cipher=AES256-GCM-SHA384
load 10443 --clients=100 --count=200 --tls=1.2 \
    --cipher=ECDHE-RSA-AES256-GCM-SHA384
stop_apache
expect_served 808 16
