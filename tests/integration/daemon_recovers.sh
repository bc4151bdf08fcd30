#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The device is lost to the daemon's serving process for good, as a GPU is after
# a kernel that traps; then that process is killed; then it is stopped, as by a
# driver that hangs. Each time the daemon starts another one, clients reach the
# device again, and none of their operations fails. A daemon that is killed
# leaves no process.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

[ -e "$BUILD_DIR/batching/daemon/warprsad_faulty" ] || skip "no faulty warprsad"
at_end() {
    : >enough
}
sign() { # until the file "enough" exists: 8 seconds may be too short
    until [ -e enough ]; do
        with_provider speed -elapsed -seconds 8 -multi 2 -async_jobs 32 rsa1024
    done
}
losses() {
    live "$daemon" device_losses
}
# The supervisor keeps the counters, so that they go on.
computes() { # FROM: more operations have been computed by a device
    [ "$(live "$daemon" "$engine_counter")" -gt "$1" ]
}
started() { # COUNT: so many serving processes have been ready
    [ "$(grep -c 'ready: ' daemon.log)" -ge "$1" ]
}
# is_back COUNT: the serving process of this number is ready and computes.
is_back() {
    local begin=$EPOCHREALTIME
    wait_for 60 started "$1"
    wait_for 60 computes "$(live "$daemon" "$engine_counter")"
    echo "back after $(awk "BEGIN { print $EPOCHREALTIME - $begin }") s"
}

# The device is lost to each serving process after so many batches.
DAEMON=warprsad_faulty
export WARPRSA_FAULT=lost@100:1
start_daemon
unset WARPRSA_FAULT
sign >speed.log 2>&1 &
signing=$!
servers+=("$signing")
first=$(serving)
lost() {
    [ "$(losses)" -ge 1 ]
}
wait_for 120 lost
is_back 2
grep -q 'a device is lost to this process' daemon.log || fail "$(cat daemon.log)"
! kill -0 "$first" 2>/dev/null || fail "the first serving process is there"
# It counts under the supervisor's number.
"$BUILD_DIR/batching/warprsa-stat" >processes
grep "^$daemon warprsad" processes || fail "$(cat processes)"
! grep "^$(serving) " processes || fail "the daemon is there twice"
kill -KILL "$daemon" # it may be losing the device just now
wait "$daemon" 2>/dev/null || :

DAEMON=warprsad
start_daemon
wait_for 60 computes 0
first=$(serving)
kill -KILL "$first"
is_back 2
grep -q 'was killed by signal 9; another one is started in 0 ms' daemon.log
second=$(serving)
[ "$second" != "$first" ] || fail "it is the same process"
kill -STOP "$second"
is_back 3
grep -q 'the serving process hangs: it is killed' daemon.log
third=$(serving)
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || :
wait_for 60 gone "$third"

# The socket that it left behind is no obstacle.
start_daemon
wait_for 60 computes 0
: >enough
wait "$signing" || fail "$(tail -n 5 speed.log)"
grep -E '^rsa +1024 bits' speed.log
! grep -E 'failure|:error:' speed.log || fail "operations failed"
[ "$(total checks_failed)" = 0 ] || fail "checks failed"
[ "$(total cpu)" -gt 0 ] || fail "nothing was computed on the CPU meanwhile"
