#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nginx workers killed under load: only their own connections break, no other
# handshake fails, and the workers that replace them use the engine as well.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

prepare_nginx
start_daemon
start_nginx
first=$(nginx_workers | sort)
killed=0
for _ in 1 2 3 4 5; do
    before=$killed
    load 8443 --clients=64 --seconds=4 &
    loading=$!
    while kill -0 "$loading" 2>/dev/null; do
        sleep 0.2
        # A worker that has served: the kernel distributes connections unevenly.
        for worker in $(nginx_workers); do
            done=$(live "$worker" "$engine_counter" 2>/dev/null || echo 0)
            if [ "$done" -gt 0 ]; then
                kill -9 "$worker"
                killed=$((killed + 1))
                break
            fi
        done
    done
    wait "$loading" || :
    [ "$(loaded failed)" = 0 ] || fail "$(cat load.log)"
    # No more than the connections that the killed workers can have had.
    [ "$(loaded reset)" -le $(((killed - before) * 64)) ] ||
        fail "$(cat load.log)"
    # Otherwise the machine was stopped for most of the time.
    [ "$killed" -lt 2 ] || break
done
[ "$killed" -ge 2 ] || fail "only $killed workers died under load"
load 8443 --clients=64 --count=300 || fail "handshakes fail after the crashes"
wait_for 60 all_workers_run
nginx_workers | sort >second
stop_nginx
[ "$(total cpu)" = "$(total cpu_no_device)" ] ||
    fail "$(total cpu) operations on the CPU"
[ "$(total checks_failed)" = 0 ] || fail "checks failed"
[ "$(total "$engine_counter")" -ge 300 ] ||
    fail "only $(total "$engine_counter") operations on the engine"
# One of the new workers has served connections.
grep 'counters: ' provider.trace |
    sed -n "s/^warprsa\[\([0-9]*\)\].* $engine_counter=[1-9].*/\1/p" |
    sort >served
comm -12 second served >both
comm -13 <(echo "$first") both | grep . ||
    fail "no new worker used the engine"
