#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program keeps the wait contexts of its async jobs for longer than the daemon
# lives, which is ended and started again. Its jobs pause for the new daemon as
# they did for the old one: a single thread has many operations under way there,
# so some batch has more than one. With one job, no batch has.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

LOAD=$BUILD_DIR/bench/load/warprsa-load
[ -x "$LOAD" ] || skip "no load generator"

computed() { # OPERATIONS: the daemon has, at least
    [ "$(live "$daemon" "$engine_counter")" -ge "$1" ]
}

# largest_batch JOBS: of the second daemon, in the variable `largest`.
largest_batch() {
    start_daemon
    "$LOAD" --module="$MODULE" --threads=1 --jobs="$1" --wake=fd --devices=0 \
        --keys=1024x2 --seconds=3600 --warm-up=0 --subject="jobs mode=daemon \
socket=$work/warprsad.sock route=gpu deadline_ms=600000" 2>load.log &
    loading=$!
    servers+=("$loading")
    wait_for 60 computed 200
    terminate "$daemon"
    start_daemon
    wait_for 60 computed 1000
    kill -0 "$loading" 2>/dev/null || fail "the program has ended"
    largest=$(live "$daemon" batch_max)
    kill "$loading"
    wait "$loading" 2>/dev/null || :
    terminate "$daemon"
}

largest_batch 1
[ "$largest" -eq 1 ] || fail "one job made a batch of $largest"
largest_batch 32
echo "32 jobs: a batch of $largest"
[ "$largest" -gt 1 ] || fail "jobs do not pause for the second daemon"
