#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recipe for haproxy in doc/vault.md, with conf/haproxy.cfg as it stands, in
# its chroot and with async jobs: every handshake is a use of the daemon's key on
# the engine, and no process of haproxy has a private number of it in its memory.
# The recipe's second key is an ordinary one, which the same scan finds.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"
. "$SOURCE_DIR/tests/integration/recipes.sh"

prepare_haproxy
mv key.pem keys/www.pem
chmod 600 keys/www.pem
rm certificates/localhost.pem
recipe_rules haproxy >keys.conf
start_vault --group=haproxy
run_recipe haproxy
start_haproxy
handshakes 9443 4 -tls1_3
handshakes 9443 4 -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256
load 9443 --clients=100 --count=200
[ "$(ps -o user= -p "$haproxy")" = haproxy ] || fail "haproxy is root"
used 208

load 9443 --clients=16 --count=50 --names=second.example
mapfile -t all < <(echo "$haproxy" && pgrep -P "$haproxy")
has_key second.key "${all[@]}"
has_no_key keys/www.pem "${all[@]}"
stop_haproxy
