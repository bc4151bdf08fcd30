#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# dnssec-signzone signs a zone through the provider: the same signatures as
# without it, all of them by the engine.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/zone.sh"

need dnssec-keygen dnssec-signzone
zsk=$(dnssec-keygen -q -a RSASHA256 -b 2048 example.org)
ksk=$(dnssec-keygen -q -a RSASHA256 -b 2048 -f KSK example.org)
cat "$zsk.key" "$ksk.key" >>zone

# The records of the signed zone, one a line. Threads sign, so that the order is
# another one each time.
sign() { # OUTPUT
    dnssec-signzone -q -O full -s 20260101000000 -e 20270101000000 \
        -o example.org -f signed zone "$zsk" "$ksk" >/dev/null
    grep -v '^;' signed | sort >"$1"
}

sign plain
OPENSSL_CONF=$work/openssl.cnf WARPRSA_TRACE=file:$work/provider.trace \
    sign warprsa
cmp plain warprsa
# Each name has a record and one that says which name is next; both are signed.
signatures=$(awk '$4 == "RRSIG" { n++ } END { print n }' plain)
[ "$signatures" -gt $((2 * names)) ] || fail "only $signatures signatures"
expect_engine 2048 "$signatures"
