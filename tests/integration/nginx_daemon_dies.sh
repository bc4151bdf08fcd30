#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The daemon is killed under load (kill -9) and started again, twice. No
# handshake fails or is cut off, the CPU computes meanwhile, and workers that
# were started before then use the new daemon.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

prepare_nginx
# The workers aren't root, and must be able to connect to the new daemon.
chmod a+x .
start_daemon --group=www-data
start_nginx
workers=$(nginx_workers | sort)
on_engine() {
    load 8443 --clients=64 --count=64 &&
        [ "$(live "$daemon" "$engine_counter")" -gt 0 ]
}
wait_for 120 on_engine
for _ in 1 2; do
    load 8443 --clients=64 --seconds=3 &
    loading=$!
    sleep 1
    kill -9 "$daemon"
    wait "$daemon" 2>/dev/null || :
    wait "$loading" || fail "handshakes failed"
    start_daemon --group=www-data
    wait_for 120 on_engine
done
[ "$(nginx_workers | sort)" = "$workers" ] || fail "workers died"
stop_nginx
nginx_is_content
[ "$(total cpu)" -gt 0 ] || fail "nothing was computed on the CPU"
[ "$(total checks_failed)" = 0 ] || fail "checks failed"
