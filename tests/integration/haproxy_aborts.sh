#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Clients that leave in mid-handshake, hundreds at a time, many more than there
# are request slots. haproxy survives; descriptors and slots become free again;
# haproxy's memory grows by no more than the paused jobs that libcrypto keeps;
# and after a first round the daemon's memory does not grow at all. The counter
# jobs_left says how many jobs libcrypto keeps (haproxy#3453): as many as a
# module that is preloaded has seen pause and not end.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

slots=256
leaving=$(($(nproc) < 8 ? 600 : 5000))
# Clients leave within so many ms of their first bytes: about the time that an
# operation takes.
leave_ms=30
deadline_ms=3000
if [ "$ENGINE" = cuda ]; then
    leave_ms=2
    deadline_ms=1000
fi
prepare_haproxy
export WARPRSA_PAUSED_JOBS=$work/paused
with_configuration+=("LD_PRELOAD=$BUILD_DIR/tests/integration/paused_jobs.so")

descriptors() {
    find "/proc/$haproxy/fd" -mindepth 1 | wc -l
}
memory() { # PID: KiB
    awk '$1 == "VmRSS:" { print $2 }' "/proc/$1/status"
}
# A client of the daemon keeps up to 32 notifiers ready, sometimes fewer.
descriptors_are_back() {
    [ "$(descriptors)" -le $((before + 2 + 32)) ]
}

# An answer that nobody collects keeps its slot for twice the deadline. Then
# there is a slot for each of these, and the device computes them all.
slots_are_back() {
    local cpu gpu
    cpu=$(live "$haproxy" cpu)
    gpu=$(live "$haproxy" "$engine_counter")
    load 9443 --clients=20 --count=100 || fail "handshakes fail afterwards"
    [ "$(live "$haproxy" "$engine_counter")" -eq $((gpu + 100)) ] &&
        [ "$(live "$haproxy" cpu)" -eq "$cpu" ]
}

# Jobs that libcrypto keeps for haproxy (paused_jobs.c).
paused() {
    echo $(($(od -An -t d8 paused)))
}

leave_and_come_back() {
    local aborted grown haproxy_grown kept kept_daemon round
    load 9443 --clients=20 --count=100 || fail "handshakes fail"
    before=$(descriptors)
    kept=$(memory "$haproxy")
    for round in 1 2; do
        aborted=0
        until [ "$aborted" -ge "$leaving" ]; do
            load 9443 --clients=100 --count="$leaving" --abort="$leave_ms" ||
                fail "clients were cut off"
            aborted=$((aborted + $(loaded aborted)))
        done
        wait_for 120 descriptors_are_back
        grown=$(($(memory "$haproxy") - kept))
        # A lost job keeps its stack of 32 KiB. Each call of load had so many in
        # flight at most.
        [ "$grown" -le $((slots * 40 * 4)) ] ||
            fail "haproxy's memory grew by $grown KiB"
        haproxy_grown=$grown
        grown=$(($(memory "$(serving)") - ${kept_daemon:-0}))
        [ "$round" = 1 ] || [ "$grown" -le 1024 ] ||
            fail "the daemon's memory grew by $grown KiB"
        # The operations of these handshakes count what was left before.
        wait_for 120 slots_are_back
        echo "$aborted clients left, $(live "$haproxy" jobs_left) jobs," \
            "$(paused) paused, $haproxy_grown KiB more"
        [ "$(live "$haproxy" jobs_left)" -eq "$(paused)" ] ||
            fail "libcrypto keeps $(paused) jobs"
        kept=$(memory "$haproxy")
        kept_daemon=$(memory "$(serving)")
    done
    # More clients must have left than there are slots, or this shows nothing.
    [ "$(live "$haproxy" cpu_queue_full)" -gt 0 ] || fail "slots never ran out"
    # And an operator sees what they left.
    [ "$(live "$haproxy" jobs_left)" -gt 0 ] || fail "no job was left"
    stop_haproxy
}

echo "== by the daemon, as in the recipe"
configure openssl.cnf "$MODULE" "${WITH_DAEMON[@]}" "${PATIENT[@]}" \
    deadline_ms=$deadline_ms
start_daemon --client-slots=$slots --deadline-ms=$deadline_ms
rm -f paused
start_haproxy
sees_jobs || skip "this haproxy has another libcrypto"
leave_and_come_back
[ "$(live "$daemon" checks_failed)" = 0 ] || fail "checks failed"

echo "== in the process"
configure openssl.cnf "$MODULE" engine="$ENGINE" "${PATIENT[@]}" \
    slots=$slots deadline_ms=$deadline_ms
sed -i 's/^ *chroot .*/    insecure-fork-wanted/' haproxy.cfg
rm -f paused
start_haproxy
leave_and_come_back
expect_totals checks_failed=0
