#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nginx -s reload, several times under load: no handshake fails or is cut off,
# and each is one private operation on the engine, of old workers or new.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

at_end() {
    stop_nginx
}
prepare_nginx
start_daemon
start_nginx
load 8443 --clients=64 --seconds=5 --names=localhost,second.example &
loading=$!
reloads=0
workers=$(nginx_workers | sort)
while kill -0 "$loading" 2>/dev/null; do
    sleep 1
    nginx_with_provider -s reload
    reloads=$((reloads + 1))
done
wait "$loading" || fail "handshakes failed in $reloads reloads"
[ "$reloads" -ge 2 ] || fail "only $reloads reloads under load"
[ "$(nginx_workers | sort)" != "$workers" ] || fail "no new workers came"
stop_nginx
nginx_is_content
completed=$(loaded completed)
[ "$completed" -gt 0 ] || fail "$(cat load.log)"
expect_totals gpu="$completed" gpu_2048="$completed" cpu=0 checks_failed=0
expect_daemon "$completed" 4
