#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# At full load the daemon reloads its options, is killed or told to stop, and is
# started again: no operation of its clients fails, and they use it again.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

at_end() {
    : >enough
}
sign() { # until the file "enough" exists: 8 seconds may be too short
    until [ -e enough ]; do
        with_provider speed -elapsed -seconds 8 -multi 3 -async_jobs 48 rsa1024
    done
}
start_daemon
sign >speed.log 2>&1 &
speed=$!
servers+=("$speed")
busy() { # has computed more operations than the set-up, and goes on
    local before
    before=$(live "$daemon" "$engine_counter")
    [ "$before" -gt 150 ] && sleep 0.1 &&
        [ "$(live "$daemon" "$engine_counter")" -gt "$before" ]
}
for signal in KILL TERM; do
    wait_for 60 busy
    kill -HUP "$daemon"
    wait_for 60 grep -q 'reloaded' daemon.log
    wait_for 60 busy
    kill -s "$signal" "$daemon"
    status=0
    wait "$daemon" 2>/dev/null || status=$?
    [ "$signal" = KILL ] || [ "$status" = 0 ] || fail "SIGTERM: status $status"
    sleep 0.5
    start_daemon
done
back() {
    [ "$(live "$daemon" "$engine_counter")" -gt 0 ]
}
wait_for 60 back
: >enough
wait "$speed" || fail "$(tail -n 5 speed.log)"
grep -E '^rsa +1024 bits' speed.log
! grep -E 'failure|:error:' speed.log || fail "operations failed"
[ "$(total cpu_no_device)" -gt 0 ] || fail "nothing was under way?"
[ "$(total cpu)" = "$(total cpu_no_device)" ] ||
    fail "$(total cpu) on the CPU, $(total cpu_no_device) for want of a daemon"
