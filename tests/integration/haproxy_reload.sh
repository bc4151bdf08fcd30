#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# haproxy with a master and a worker, as its systemd unit starts it, reloaded
# several times under load: no handshake fails or is cut off, and each is one
# private operation, for old workers or new.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

prepare_haproxy
start_daemon
start_haproxy -W
sees_jobs || skip "this haproxy has another libcrypto"
worker_of_haproxy() {
    pgrep -P "$haproxy"
}
wait_for 60 worker_of_haproxy >pids
first=$(worker_of_haproxy)
# Not before the worker of the last reload serves: it waits for the master's
# answer before that, and if the master starts itself anew instead, haproxy 3.2
# has its next worker wait for the sockets in vain, with the provider or without.
# Nor while another one ends: at a reload the master sends SIGUSR1 to all its old
# workers, and one that has taken down its signal handlers is killed by it before
# the handlers of exit() have run, which print our counters.
reload_haproxy() {
    local newest
    newest=$(pgrep -P "$haproxy") || return
    [ "$(wc -l <<<"$newest")" = 1 ] || return
    grep -qF "warprsa[$newest] connected" provider.trace || return
    kill -USR2 "$haproxy"
}
load_meanwhile 2 reload_haproxy 9443 --clients=64 --seconds=5 \
    --names=localhost,second.example
first_is_gone() {
    gone "$first"
}
wait_for 60 first_is_gone
stop_haproxy
expect_served "$completed" 8 # a reload leaves fewer clients together
