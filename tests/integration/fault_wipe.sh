#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keys are wiped from the device before its driver ends, which it does at
# exit(). One that can't be wiped isn't counted as wiped; the trace says so.
. "$(dirname "$0")/lib.sh"

use_faulty_module
rsa_key 2048 key.pem

# CUDA's driver does by itself what this fault makes of the host engine, though
# not each time: of five processes one met it.
exits=1
[ "$ENGINE" != cuda ] || exits=50
for ((i = 0; i < exits; i++)); do
    WARPRSA_FAULT="exit" sign_and_verify key.pem
    expect_counters provider.trace "$engine_counter=1" keys_loaded=1 \
        keys_wiped=1
done
! grep -E 'not wiped|wiping' provider.trace || fail "the driver was first"

WARPRSA_FAULT=wipe sign_and_verify key.pem
expect_counters provider.trace "$engine_counter=1" keys_loaded=1 keys_wiped=0
grep -E 'device 0: (a key was|1 keys were) not wiped' provider.trace ||
    fail "the trace says nothing"
