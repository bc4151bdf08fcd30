#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nginx -s reload, several times under load: no handshake fails or is cut off,
# and each is one private operation on the engine, of old workers or new.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

prepare_nginx
start_daemon
start_nginx
workers=$(nginx_workers | sort)
reload_nginx() {
    nginx_with_provider -s reload || fail "nginx doesn't reload"
}
load_meanwhile 2 reload_nginx 8443 --clients=64 --seconds=5 \
    --names=localhost,second.example
[ "$(nginx_workers | sort)" != "$workers" ] || fail "no new workers came"
stop_nginx
nginx_is_content
# Each worker waits for its operation: a batch of two is of two workers. More
# come together where the machine has the time.
expect_served "$completed" 2
