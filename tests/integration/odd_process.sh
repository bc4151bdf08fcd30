#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What programs do to their own process does them no more harm with the provider
# than without: limits, closed descriptors, threads that are cancelled, a random
# generator of their own, children without handlers, a small secure heap, small
# stacks. Each is tried with the default provider, with an engine of the
# process's own, and with the daemon. odd_process.c has the kinds.
#
#   odd_process.sh [KIND...]
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

program=$BUILD_DIR/tests/integration/odd_process
configure process.cnf "$MODULE" engine="$ENGINE" "${PATIENT[@]}"
configure daemon.cnf "$MODULE" "${WITH_DAEMON[@]}" "${PATIENT[@]}" engine=none
configure auto.cnf "$MODULE" engine="$ENGINE"
configure cpu.cnf "$MODULE" engine=none route=cpu
cp /dev/null default.cnf
rsa_key 2048 key.pem
start_daemon

# try WAY KIND ARGUMENT...: the program, which may not hang either.
try() {
    local way=$1 kind=$2 status=0
    shift 2
    OPENSSL_CONF=$work/$way.cnf \
        WARPRSA_TRACE=${trace_to:-file:$work/$way.trace} \
        timeout 300 "$program" "$kind" key.pem "$@" 2>&1 | cat >out ||
        status=$?
    [ $status -eq 0 ] ||
        fail "$kind $*, $way: exit status $status, $(cat out)"
}

try_all() { # KIND ARGUMENT...
    try default "$@"
    try process "$@"
    try daemon "$@"
}

# The same, where COUNT operations of the program are done by the engine, some
# of them at least where a daemon may be late.
try_on_device() { # COUNT KIND ARGUMENT...
    local count=$1 end=$((SECONDS + 60))
    shift
    try default "$@"
    try process "$@"
    grep -qx "engine=$count" out || fail "$*: not $count but $(cat out)"
    until try daemon "$@" && grep -qx "engine=[1-9][0-9]*" out; do
        [ "$SECONDS" -lt "$end" ] || fail "$*: the daemon was late for a minute"
    done
}

limit() {
    local size way
    for size in 0 4096; do # bytes; the traces are longer
        for way in default process daemon; do
            echo "a line" >$way.trace
            try $way limit fsize $size
        done
    done
    for size in 3 4 5 6 7 8 12 16; do
        try_all limit nofile $size
    done
    try_all limit memlock 0
    try_all limit as 1024
}

closed() {
    try default closed
    # NVIDIA's driver writes to eventfds of its own, whatever has their numbers.
    [ "$ENGINE" = cuda ] || try process closed
    try daemon closed
}

no_stdio() {
    local fd
    try default no_stdio
    # NVIDIA's driver opens descriptors of its own, which are 0 to 2 then.
    [ "$ENGINE" = cuda ] || try process no_stdio
    try daemon no_stdio
    # The daemon itself.
    "$BUILD_DIR/batching/daemon/warprsad" --engine="$ENGINE" \
        --socket="$work/quiet.sock" <&- >&- 2>&- &
    servers+=("$!")
    wait_for 120 test -S quiet.sock
    for fd in 0 1 2; do
        [ "$(readlink /proc/$!/fd/$fd)" = /dev/null ] ||
            fail "the daemon has $(readlink /proc/$!/fd/$fd) as $fd"
    done
}

cancel() {
    try_on_device 58 cancel
    try auto cancel
}

random() {
    try_all random
}

bare() {
    try_on_device 6 bare
}

secure() {
    try_on_device 3 secure 16384
    try_on_device 3 secure 32768
}

# A thread may have a stack that is just large enough for the default provider,
# and an async job has one of 32 KiB. What libcrypto needs depends on the CPU:
# 9 to 18 KiB. The provider needs 8 to 11 KiB, most of it libc's printf.
stack() {
    local way own trace_to=none
    try default stack
    own=$(sort -n out | tail -n 1)
    for way in cpu process daemon; do
        try $way stack
        [ "$(sort -n out | tail -n 1)" -le $((own + 3072)) ] ||
            fail "stack, $way: $(cat out), and $own without the provider"
    done
}

[ $# -gt 0 ] || set -- limit closed no_stdio cancel random bare secure stack
for kind; do
    "$kind"
done
