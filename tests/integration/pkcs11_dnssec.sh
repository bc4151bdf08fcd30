#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# BIND's dnssec-keyfromlabel and dnssec-signzone by pkcs11-provider with two keys
# of the daemon; dnssec-verify finds the zone well signed. The
# recipe of doc/pkcs11.md.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/pkcs11_provider.sh"
. "$SOURCE_DIR/tests/integration/zone.sh"

need dnssec-keyfromlabel dnssec-signzone dnssec-verify
vault_key zsk 2048
vault_key ksk 2048
echo "* user=$ME sign padding=pkcs1 digest=sha256" >keys.conf
start_vault

key_of() { # LABEL OPTION...
    by_token dnssec-keyfromlabel -a RSASHA256 \
        -l "pkcs11:token=warprsa;object=$1" "${@:2}" example.org 2>dnssec.log ||
        fail "$(cat dnssec.log)"
}
zsk=$(key_of zsk)
ksk=$(key_of ksk -f KSK)
cat "$zsk.key" "$ksk.key" >>zone
! grep -q '^PrivateExponent' "$zsk.private" || fail "a private number"

# Signs the zone, and counts what BIND says that it signed. Its own check of the
# zone is left to a process without warprsa.
before=$(live "$daemon" vault_uses)
by_token dnssec-signzone -P -t -O full -o example.org -f signed zone "$zsk" \
    "$ksk" >dnssec.log 2>&1 || fail "$(cat dnssec.log)"
signatures=$(awk '$4 == "RRSIG" { n++ } END { print n }' signed)
[ "$signatures" -gt $((2 * names)) ] || fail "only $signatures signatures"
[ "$(live "$daemon" vault_uses)" = $((before + signatures)) ] ||
    fail "$(live "$daemon" vault_uses) uses after $before, $signatures signatures"
dnssec-verify -o example.org signed >verify.log 2>&1 || fail "$(cat verify.log)"

# Control: a zone with another address has no such signature.
sed 's/192\.0\.2\.7$/192.0.2.99/' signed >changed
! cmp -s signed changed || fail "nothing was changed"
! dnssec-verify -o example.org changed >control.log 2>&1 ||
    fail "any zone is verified"
[ "$(live "$daemon" checks_failed)" = 0 ] || fail "checks failed"
