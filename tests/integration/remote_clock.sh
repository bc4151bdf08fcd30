#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The clock of a TLS host and of its GPU host jumps under load, by
# shifted_clock.c: an hour ahead, a day back, and beyond the end of all
# certificates. Deadlines and signs of life go by the monotonic clock, so that
# what is there goes on, and no operation fails. Where certificates have ended,
# connections end, too, and a new one is refused.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/remote_load.sh"

library=$BUILD_DIR/tests/integration/libshifted_clock.so
# A sanitizer has to be loaded before all else.
! grep -q __asan_init <<<"$(nm "$REMOTE")" &&
    ! grep -q __tsan_init <<<"$(nm "$REMOTE")" || skip "a sanitizer's build"

authority ca
certificate host ca IP:127.0.0.1
certificate web ca DNS:web1.example.org
echo 'dns:web1.example.org' >map
jump() { # SECONDS ahead
    echo "$1" >clock.new
    mv clock.new clock
}
jump 0
with_clock=(env "LD_PRELOAD=$library" "SHIFTED_CLOCK=$work/clock")
before_host=("${with_clock[@]}")
tls host
start_gpu_host host "${tls[@]}" --identities="$work/map"
before_remote=("${with_clock[@]}")
tls web
start_remote --remote-hosts="127.0.0.1:$port" "${tls[@]}" --deadline-ms=60000
wait_for 60 grep -q 'in use, 127.0.0.1' daemon.log

start_load -seconds 2 -async_jobs 16
computes
for seconds in 3600 -86400; do
    jump "$seconds"
    computes
    sleep 1 # for whatever wakes each second
    computes
done
! grep 'out of use' daemon.log || fail "the host was lost"
# stop and go on, as long as it takes: supervisors count their own seconds, and
# would replace a serving process after 10 of them.
stop() { # SUPERVISOR
    kill -STOP "$1" "$(pgrep -P "$1")"
}
go_on() { # SUPERVISOR
    kill -CONT "$(pgrep -P "$1")" "$1"
}
at_end() { # what is stopped would not end
    : >enough
    go_on "$daemon" 2>/dev/null || :
}
# The daemon had no CPU for a while: it then reads what has come, and does not
# take the host for lost.
paused=$SECONDS
stop "$daemon"
sleep 6
go_on "$daemon"
paused=$((SECONDS - paused))
computes
if [ "$paused" -lt 9 ]; then
    ! grep 'out of use' daemon.log || fail "the host was lost"
fi
in_use=$(grep -c 'in use, 127.0.0.1' daemon.log)
# The certificates have ended: each side gives the other one up. The load goes
# on by the program's own CPU.
jump 2592000
wait_for 60 grep -q 'refused: certificate has expired' daemon.log
wait_for 60 grep -q 'not opened.*refused: certificate has expired' daemon.log
jump 0
in_use_again() {
    [ "$(grep -c 'in use, 127.0.0.1' daemon.log)" -gt "$in_use" ]
}
wait_for 60 in_use_again
computes
end_load
