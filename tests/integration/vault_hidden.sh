#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The daemon's serving process, which talks to clients, can't open the files of
# the vault's keys, even as root: the option tls_key makes it read a file that
# the test chooses. It serves the keys all the same.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/certificates.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"

echo "to be signed" >message
vault_key www 2048
echo "www user=$ME sign padding=pkcs1 digest=sha256" >keys.conf
mkdir -m 700 secrets
echo "a passphrase" >secrets/passphrase
chmod 600 secrets/passphrase
authority ca
certificate host ca DNS:localhost
cp host.key keys/host.key

# As warprsad that uses other hosts, of which none is there.
mkdir -p with_network/batching/daemon
ln -s "$BUILD_DIR/batching/remote/warprsad-remote" \
    with_network/batching/daemon/warprsad
ln -s "$BUILD_DIR/batching/warprsa-stat" with_network/batching/warprsa-stat
start_with_key() { # TLS-KEY
    BUILD_DIR=$work/with_network start_vault \
        --keys-passphrase-file="$work/secrets/passphrase" \
        --tls-certificate="$work/host.pem" --tls-key="$1" \
        --tls-ca="$work/ca.pem" --remote-hosts=127.0.0.1:1
}

start_with_key "$work/host.key"
if grep 'files of keys are not hidden' daemon.log; then
    terminate "$daemon"
    skip "no Landlock here"
fi
grep -q '^NoNewPrivs:[[:space:]]*1' "/proc/$(serving)/status"
reference www
signs www -sha256
terminate "$daemon"

# A file that is made later beside the keys' directory is as far from the
# serving process: what is in the options comes from the supervisor.
echo 'client_slots = 64' >my.conf
start_vault --config="$work/my.conf"
signs www -sha256
grep -q 'connected, 64 slots' daemon.log
echo 'client_slots = 8' >new.conf
mv new.conf my.conf
kill -HUP "$daemon"
wait_for 60 grep -q 'reloaded: limits' daemon.log
signs www -sha256
grep -q 'connected, 8 slots' daemon.log
terminate "$daemon"

for hidden in keys/host.key secrets/passphrase; do
    start_with_key "$work/$hidden"
    wait_for 60 grep -q "not opened.*$hidden: Permission denied" daemon.log
    terminate "$daemon"
done

# Files that are not there can't be hidden: the daemon does not start.
! timeout 60 "$BUILD_DIR/batching/daemon/warprsad" --engine="$ENGINE" \
    --socket="$work/s" --keys-directory="$work/nowhere" \
    --keys-rules="$work/keys.conf" >refused.log 2>&1 || fail "it has started"
grep -q "$work/nowhere: No such file or directory" refused.log ||
    fail "$(cat refused.log)"
