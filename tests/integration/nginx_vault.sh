#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recipe for nginx in doc/vault.md, with conf/nginx.conf as it stands: every
# handshake is a use of the daemon's key on the engine, and no process of nginx
# has a private number of that key in its memory. The recipe's second key is an
# ordinary one: the same scan finds it in every process.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"
. "$SOURCE_DIR/tests/integration/recipes.sh"

prepare_nginx
mv key.pem keys/www.pem
chmod 600 keys/www.pem
recipe_rules nginx >keys.conf
start_vault --group=www-data
run_recipe nginx
start_nginx
handshakes 8443 4 -tls1_3
handshakes 8443 4 -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256
load 8443 --clients=32 --count=200
used 208

load 8443 --clients=16 --count=50 --names=second.example
mapfile -t all < <(nginx_workers && cat nginx.pid)
has_key second.key "${all[@]}"
has_no_key keys/www.pem "${all[@]}"

# A key exchange without Diffie-Hellman is what the rules do not allow.
! answers 8443 -tls1_2 -cipher AES128-GCM-SHA256 || fail "it has decrypted"
grep -q 'key www: denied to user .*: decrypt, padding tls' daemon.log
stop_nginx
