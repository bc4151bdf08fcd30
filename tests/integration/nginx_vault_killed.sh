#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nginx has references to keys that the daemon holds. Under load the daemon's
# serving process is killed (kill -9), then the daemon is, and it is started
# again; a key is rotated. No handshake fails, since each waits for the daemon.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"

RESTARTS=${WARPRSA_TEST_RESTARTS:-3}
prepare_nginx
# Of the recipe's keys two are the vault's.
mv key.pem keys/www.pem
mv second.key keys/second.pem
chmod 600 keys/*.pem
cat >keys.conf <<END
* user=$ME,www-data sign padding=pkcs1,pss digest=any
END
chmod a+x .
start_vault --group=www-data
reference www
reference second
cp www.ref key.pem
cp second.ref second.key
start_nginx
workers=$(nginx_workers | sort)
uses() {
    live "$daemon" vault_uses
}
under_load() { # COMMAND...: after a second of load
    load 8443 --clients=64 --seconds=4 &
    loading=$!
    sleep 1
    "$@"
    wait "$loading" || fail "handshakes failed: $*"
    [ "$(loaded completed)" -gt 0 ] || fail "no handshake: $*"
}
under_load true
[ "$(uses)" -ge "$(loaded completed)" ] || fail "$(uses) uses"

kill_serving() {
    kill -9 "$(serving)"
}
for ((i = 0; i < RESTARTS; i++)); do
    under_load kill_serving
done
[ "$(grep -c 'was killed by signal 9; another one is started' daemon.log)" = \
    "$RESTARTS" ] || fail "$(cat daemon.log)"
kill_daemon() {
    kill -9 "$daemon"
    wait "$daemon" 2>/dev/null || :
    start_vault --group=www-data
}
under_load kill_daemon
under_load kill -HUP "$daemon"

[ "$(nginx_workers | sort)" = "$workers" ] || fail "workers died"
stop_nginx
nginx_is_content
[ "$(total vault_uses)" -gt 0 ] || fail "nothing was signed"
[ "$(grep -c 'connected to warprsad' provider.trace)" -gt \
    "$(wc -w <<<"$workers")" ] || fail "no worker has lost its connection"
[ "$(total vault_denials)" = 0 ] || fail "$(total vault_denials) denials"
[ "$(total vault_late)" = 0 ] || fail "$(total vault_late) were late"
[ "$(total checks_failed)" = 0 ] || fail "checks failed"
