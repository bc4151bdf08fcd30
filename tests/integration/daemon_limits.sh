#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 64 clients of 64 users, and a daemon that has too few descriptors, and then
# too little memory, for all of them. Clients that it can't take compute on the
# CPU, the others are served, and no operation fails. When they have gone there
# is room for others.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

need setpriv prlimit
as_root "processes of other users"
clients=64
group=$(getent group nogroup | cut -d: -f1)
[ -n "$group" ] || skip "no group nogroup here"
gid=$(getent group "$group" | cut -d: -f3)
rsa_key 1024 key.pem
# These users may have no access to the build folder.
cp "$MODULE" warprsa.so
configure openssl.cnf "$work/warprsa.so" "${WITH_DAEMON[@]}" "${PATIENT[@]}"
chmod a+rX . ./*.pem openssl.cnf warprsa.so

as_user() { # USER COMMAND...
    local user=$1
    shift
    OPENSSL_CONF=$work/openssl.cnf WARPRSA_TRACE=file:$work/provider.trace \
        setpriv --reuid "$user" --regid "$gid" --clear-groups "$@"
}

# All clients at once, each with as many operations as it can in 2 seconds.
run_all() {
    local pids=() pid i
    for ((i = 0; i < clients; i++)); do
        as_user $((61000 + i)) "$OPENSSL" speed -elapsed -seconds 2 rsa1024 \
            >"speed.$i" 2>&1 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || fail "a client failed"
    done
    # openssl speed goes on after an operation that failed, and exits with 0.
    ! grep -i 'failure' speed.* || fail "operations failed"
}

sign_as_another() {
    as_user 62000 "$OPENSSL" dgst -sha256 -sign "$work/key.pem" \
        "$work/openssl.cnf" >sig
}

refused() { # how many, for want of room
    grep -c 'is refused: no' daemon.log
}

# has_no_room_for_all OPTION-OF-PRLIMIT
has_no_room_for_all() {
    local before
    prlimit --pid "$(serving)" "$1"
    # Clients that start too slowly one after the other are not all there at
    # once: another attempt.
    for _ in 1 2 3 4 5; do
        : >provider.trace
        chmod 666 provider.trace
        run_all
        ! grep -q 'is refused' daemon.log || break
    done
    grep -q 'is refused: no.* descriptor' daemon.log ||
        fail "$1: none was refused"
    [ "$(total "$engine_counter")" -gt 0 ] || fail "$1: none was served"
    [ "$(total cpu_no_device)" -gt 0 ] || fail "$1: all were served"
    wait_for 60 has_counted keys 0
    : >provider.trace
    before=$(refused)
    by_daemon sign_as_another
    plain dgst -sha256 -verify key.pem.pub -signature sig openssl.cnf \
        >/dev/null
    [ "$(total "$engine_counter")" = 1 ] && [ "$(refused)" = "$before" ] ||
        fail "$1: there is no room afterwards"
    kill -TERM "$daemon"
    wait "$daemon" || fail "$1: the daemon ended with status $?"
}

echo "== descriptors for a quarter of them"
start_daemon --group "$group"
used=$(find "/proc/$(serving)/fd" -mindepth 1 | wc -l)
# Each takes a control connection, a connection, a pidfd and an eventfd.
some=$((clients / 4))
has_no_room_for_all --nofile=$((used + some * 4))

echo "== memory for a quarter of them"
# With the host engine: CUDA reserves so much address space that a limit on it
# would hit CUDA first.
ENGINE=host
engine_counter=gpu
start_daemon --group "$group"
used=$(awk '$1 == "VmSize:" { print $2 * 1024 }' "/proc/$(serving)/status")
# A client takes 2,048 slots of 1.2 KiB, and 2 MiB for 4,096 keys.
has_no_room_for_all --as=$((used + some * 5000000))
