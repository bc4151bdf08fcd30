#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An engine without a device: libcrypto computes at once and the counters
# say why.
. "$(dirname "$0")/lib.sh"

[ "$ENGINE" = host ] || skip "the same on every engine"
[ ! -e /dev/nvidiactl ] || skip "there is a GPU here"
rsa_key 2048 key.pem
for engine in cuda auto ifma none; do
    configure none.cnf "$MODULE" engine=$engine route=gpu cpu_threads=0
    CONF=none.cnf sign_and_verify key.pem
    expect_counters provider.trace gpu=0 cpu=1 cpu_no_device=1
done
