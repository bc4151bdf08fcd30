#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Private numbers of the vault are in the memory of the serving process alone:
# not in that of the supervisor, nor of a server that signs by a reference. When
# a key is rotated under load, no handshake fails, and the old one is gone from
# all processes.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"

need python3
scan() { # KEY PROCESS...: whether any of them has a private number of it
    local status=0
    OPENSSL=$OPENSSL python3 "$SOURCE_DIR/tests/integration/scan_memory.py" \
        "$@" >scan.log || status=$?
    cat scan.log
    [ "$status" != 2 ] || skip "the memory of processes can't be read here"
    return "$status"
}

vault_key www 2048
cp -p keys/www.pem old.pem
vault_key steady 2048
echo "* user=$ME sign padding=pkcs1,pss digest=any" >keys.conf
start_vault
reference www
plain req -x509 -new -key keys/www.pem -subj /CN=localhost -days 2 \
    -out certificate.pem

# The control: a server that has the key itself, and gives it to the daemon.
serve_with_provider -key keys/www.pem -cert certificate.pem
handshakes "$port" 3
scan old.pem "$server" || fail "the scan does not find an ordinary key"
kill "$server"
wait "$server" || :

serve_with_provider -key www.ref -cert certificate.pem
handshakes "$port" 3 -tls1_3
handshakes "$port" 3 -tls1_2
! scan old.pem "$server" "$daemon" || fail "a number is not in the vault alone"
scan old.pem "$(serving)" || fail "the vault has not even its own key"

# Rotated under load. Another server has another key.
reference steady
plain req -x509 -new -key keys/steady.pem -subj /CN=localhost -days 2 \
    -out steady.crt
cp steady.crt certificate.pem
serve_with_provider -key steady.ref -cert steady.crt
handshakes "$port" 40 &
load=$!
sleep 0.5
vault_key www 2048
reload_until 'key www: replaced'
wait "$load" || fail "handshakes failed"
gone_from_all() {
    ! scan old.pem "$daemon" "$(serving)"
}
wait_for 60 gone_from_all
scan keys/www.pem "$(serving)" || fail "the vault has not its new key"
scan keys/steady.pem "$(serving)" || fail "the vault has lost its other key"
