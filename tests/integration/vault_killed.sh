#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Under load by references, ten times each, the daemon's serving process is
# killed (kill -9), the whole daemon is, and the whole daemon is told to end and
# started again: no use fails, and each result is verified. As a control, uses
# fail where no daemon comes back.
#
# A use can be unlucky and meet one killed daemon after the other, each of which
# a busy machine takes long to replace, so deadline_ms is more than by default.
# DEADLINE_MS=2000 shows how it is by default, on a machine with nothing else to
# do.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"

TIMES=${WARPRSA_TEST_RESTARTS:-10}
DEADLINE_MS=${DEADLINE_MS:-10000}
for name in www ca; do
    vault_key $name 2048
done
echo "* user=$ME sign padding=pkcs1,pss,none digest=any" >keys.conf
start() {
    start_vault --deadline-ms="$DEADLINE_MS"
}
start
for name in www ca; do
    reference $name
done

# Signs by both references for so many seconds, and verifies all.
load_by_references() { # SECONDS
    "$BUILD_DIR/bench/load/warprsa-load" --module="$MODULE" \
        --key-files=www.ref,ca.ref --mix=pkcs1,pss,raw --wake=fd --threads=2 \
        --in-flight=16 --verify-every=1 --warm-up=0 --seconds="$1" \
        --devices=0 --json=load.json \
        --subject="references socket=$work/warprsad.sock \
        deadline_ms=$DEADLINE_MS" >load.log 2>&1
}
counted() { # NAME
    grep -o "\"$1\": *[0-9]*" load.json | grep -o '[0-9]*$'
}

uses=0
is_used() { # more than at the last look_at_uses; false while a daemon starts
    local now
    now=$(live "$daemon" vault_uses) && [ "$now" -gt "$uses" ]
}
look_at_uses() {
    uses=$(live "$daemon" vault_uses)
}
used_or_over() {
    is_used || ! kill -0 "$loading"
}
# Does something to a daemon that is used, again and again under load.
under_load() { # COMMAND
    local done=0 signed=0
    while [ "$done" -lt "$TIMES" ]; do
        load_by_references 5 &
        loading=$!
        while wait_for 60 used_or_over && kill -0 "$loading" 2>/dev/null &&
            [ "$done" -lt "$TIMES" ]; do
            $1
            look_at_uses
            done=$((done + 1))
        done
        wait "$loading" || fail "$1, the ${done}th time: $(cat load.log)"
        [ "$(counted verified)" = "$(counted started)" ] || fail "$(cat load.json)"
        signed=$((signed + $(counted started)))
    done
    echo "$1: $done times, $signed operations: 0 failed, 0 wrong"
}

kill_serving() {
    kill -9 "$(serving | head -n 1)" # not the reader, which is younger
}
kill_daemon() {
    kill -9 "$daemon"
    wait "$daemon" 2>/dev/null || :
    start
}
restart_daemon() {
    terminate "$daemon"
    start
}
under_load kill_serving
[ "$(grep -c 'killed by signal 9; another one is started in 0 ms' \
    daemon.log)" = "$TIMES" ] || fail "$(cat daemon.log)"
under_load kill_daemon
under_load restart_daemon

load_by_references 5 &
loading=$!
look_at_uses
wait_for 60 is_used
terminate "$daemon"
! wait "$loading" || fail "uses succeed without a daemon"
[ "$(counted failed)" -gt 0 ] || fail "$(cat load.log)"
[ "$(counted wrong)" = 0 ] || fail "$(cat load.log)"
