#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 64 async jobs on one thread, as `openssl speed` makes them.
. "$(dirname "$0")/lib.sh"

# If the machine stops for that second, there is no time for all of them.
for _ in 1 2 3 4 5; do
    with_provider speed -elapsed -seconds 1 -async_jobs 64 rsa2048 \
        >speed.log 2>&1
    grep -E '^rsa +2048 bits' speed.log
    expect_counters provider.trace cpu=0 checks_failed=0 \
        "${engine_counter}_1024=0" "${engine_counter}_3072=0"
    done=$(grep -o " ${engine_counter}_2048=[0-9]*" provider.trace | tail -n 1)
    [ "${done#*=}" -lt 128 ] || break
done
[ "${done#*=}" -ge 128 ] || fail "only${done} operations on the engine"
