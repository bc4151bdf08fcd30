#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The daemon computes for several programs, one after the other: signatures,
# decryptions and handshakes, verified by processes that do not load the
# provider. No program has an engine of its own.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

configure openssl.cnf "$MODULE" "${WITH_DAEMON[@]}" "${PATIENT[@]}" engine=none
start_daemon
rsa_key 2048 key.pem
rsa_key 4096 large.pem
self_signed key.pem certificate.pem
echo "to be signed" >message
: >provider.trace

by_daemon with_provider dgst -sha256 -sign key.pem -out sig message
plain dgst -sha256 -verify key.pem.pub -signature sig message
by_daemon with_provider dgst -sha512 -sigopt rsa_padding_mode:pss \
    -sign large.pem -out sig message
plain dgst -sha512 -sigopt rsa_padding_mode:pss -verify large.pem.pub \
    -signature sig message
plain pkeyutl -encrypt -pubin -inkey key.pem.pub -in message -out secret \
    -pkeyopt rsa_padding_mode:oaep
by_daemon with_provider pkeyutl -decrypt -inkey key.pem -in secret \
    -out plain.txt -pkeyopt rsa_padding_mode:oaep
cmp message plain.txt
by_daemon serve_and_connect -tls1_3
by_daemon serve_and_connect -tls1_2 -cipher AES128-GCM-SHA256

[ "$(total "$engine_counter")" = 5 ] &&
    [ "$(total cpu)" = "$(total cpu_no_device)" ] ||
    fail "clients: $(total "$engine_counter") by the daemon, $(total cpu) by themselves"
wait_for 60 has_counted keys 0
# Of an operation that was late it knows as well.
for wanted in "$engine_counter=5" "${engine_counter}_2048=4" \
    "${engine_counter}_4096=1"; do
    [ "$(live "$daemon" "${wanted%=*}")" -ge "${wanted#*=}" ] ||
        fail "daemon: not $wanted but $(live "$daemon" "${wanted%=*}")"
done
has_counted checks_failed 0 || fail "checks failed in the daemon"
"$BUILD_DIR/batching/warprsa-stat" "$daemon"

terminate "$daemon"
grep -q "counters: .* $engine_counter=[1-9]" daemon.log
loads=$(grep -o ' keys_loaded=[0-9]*' daemon.log | cut -d= -f2)
wiped=$(grep -o ' keys_wiped=[0-9]*' daemon.log | cut -d= -f2)
[ "$loads" = "$wiped" ] || fail "$loads keys loaded, $wiped wiped"
[ ! -e warprsad.sock ] || fail "the daemon has left its socket behind"
