#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The daemon's device computes wrongly: after three results it is out of use,
# and the client's libcrypto computes. It fails the known-answer test of that
# size twice, and is used again once it passes; the same process goes on. The
# log, warprsa-stat and the metrics tell of it. No signature is wrong.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

[ -e "$BUILD_DIR/batching/daemon/warprsad_faulty" ] || skip "no faulty warprsad"
rsa_key 1024 key.pem

# Three results of clients, and two of the test.
DAEMON=warprsad_faulty
export WARPRSA_FAULT=wrong:5
start_daemon
unset WARPRSA_FAULT
first=$(serving)
is_out() {
    sign_and_verify key.pem
    [ "$(live "$daemon" device0_wrong)" = 1 ]
}
wait_for 60 is_out
[ "$(live "$daemon" checks_failed)" = 3 ] || fail "not after three results"
[ "$(live "$daemon" device0_checks_failed)" = 3 ] || fail "whose were they?"
grep -q 'device 0: out of use, wrong results of RSA-1024, for 1 s' daemon.log ||
    fail "$(cat daemon.log)"
"$BUILD_DIR/batching/warprsa-stat" --prometheus >metrics
wrong='{user="[^"]*",program="warprsad[^"]*",device="0"}'
grep -q "^warprsa_device_wrong_total$wrong 1\$" metrics || fail "$(grep wrong metrics)"
: >provider.trace
sign_and_verify key.pem
expect_counters provider.trace cpu=1

is_back() {
    : >provider.trace
    sign_and_verify key.pem
    [ "$(total "$engine_counter")" = 1 ]
}
wait_for 120 is_back
grep -q 'the known-answer test of RSA-1024 failed' daemon.log ||
    fail "$(cat daemon.log)"
[ "$(live "$daemon" checks_failed)" = 3 ] || fail "more results were wrong"
[ "$(live "$daemon" device_losses)" = 1 ] || fail "it was lost again"
[ "$(live "$daemon" keys_wrong)" = 0 ] || fail "the key is not wrong"
[ "$(serving)" = "$first" ] || fail "another process serves"
