#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# warprsad lets CUDA have as many hardware queues as it has streams: it asks for
# them before it starts a thread, since the environment may not change
# afterwards. Also with a vault, which has threads of its own before there is a
# queue.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"

[ "$ENGINE" != cuda ] || skip "with a GPU CUDA has threads, too"
ENGINE=auto
vault_key www 2048
echo "www user=$ME sign padding=pkcs1 digest=sha256" >keys.conf

queues() { # WANTED start_daemon|start_vault OPTION...
    local wanted=$1
    shift
    LD_PRELOAD=$BUILD_DIR/tests/integration/first_thread.so "$@"
    terminate "$daemon"
    grep -qx "first thread: hardware queues: $wanted" daemon.log ||
        fail "$*: expected $wanted, but: $(grep 'first thread' daemon.log)"
}
queues 24 start_daemon
queues 24 start_vault
queues 12 start_vault --streams=12
queues unset start_vault --streams=8
CUDA_DEVICE_MAX_CONNECTIONS=9 queues 9 start_vault
