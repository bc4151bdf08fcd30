# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A load without end on remote hosts; tests of these source this after lib.sh.
. "$SOURCE_DIR/tests/integration/gpu_host.sh"

daemon= # the process that uses the hosts; the test sets it
configure openssl.cnf "$MODULE" "${WITH_DAEMON[@]}" route=gpu \
    startup_ms=10000 deadline_ms=60000

at_end() {
    : >enough
}

# start_load SPEED-OPTION...: operations of RSA-1024 until the file "enough"
# exists.
start_load() {
    rm -f enough
    until [ -e enough ]; do
        with_provider speed -elapsed "$@" rsa1024
    done >speed.log 2>&1 &
    speed=$!
    servers+=("$speed")
}

end_load() { # none of its operations has failed
    : >enough
    wait "$speed" || fail "$(tail -n 5 speed.log)"
    grep -E '^rsa +1024 bits' speed.log
    ! grep -E 'failure|:error:' speed.log || fail "operations failed"
    [ "$(live "$daemon" checks_failed)" = 0 ] || fail "a check failed"
}

has_more_than() { # OPERATIONS
    [ "$(live "$daemon" gpu)" -gt "$1" ]
}

computes() { # a host does, from now on
    wait_for 60 has_more_than "$(live "$daemon" gpu)"
}
