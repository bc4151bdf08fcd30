#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recipe for stunnel in doc/vault.md, with conf/stunnel.conf and
# conf/stunnel-openssl.cnf as they stand: every handshake is a use of the
# daemon's key on the engine, and stunnel has no private number of it in its
# memory. The control is the same stunnel with the key itself.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"
. "$SOURCE_DIR/tests/integration/recipes.sh"

prepare_stunnel "socket=$work/warprsad.sock"
cp key.pem keys/www.pem
chmod 600 keys/www.pem
start_stunnel
handshakes 11443 2 -tls1_3
has_key keys/www.pem "$stunnel"
stop_stunnel

rm key.pem
recipe_rules stunnel | sed "s/user=stunnel4/user=$user/" >keys.conf
start_vault --group="$user"
run_recipe stunnel "s/-u stunnel4/-u $user/"
start_stunnel
handshakes 11443 4 -tls1_3
handshakes 11443 4 -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256
load 11443 --clients=50 --count=100
[ "$(ps -o user= -p "$stunnel")" = "$user" ] || fail "stunnel is root"
has_no_key keys/www.pem "$stunnel"
used 108
stop_stunnel
