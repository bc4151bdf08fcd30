#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A device that breaks under a batch: libcrypto computes what was in it, the
# device passes its known-answer test and takes the rest.
. "$(dirname "$0")/lib.sh"

[ -e "$FAULTY_MODULE" ] || skip "no $FAULTY_MODULE"
configure faulty.cnf "$FAULTY_MODULE" engine="$ENGINE" route=gpu \
    startup_ms=60000
export CONF=$work/faulty.cnf

WARPRSA_FAULT=trap:1 with_provider speed -elapsed -seconds 4 -async_jobs 16 \
    rsa2048 >speed.log 2>&1
grep -E '^rsa +2048 bits' speed.log
expect_counters provider.trace device_losses=1 checks_failed=0 devices=1
cpu=$(grep -o ' cpu=[0-9]*' provider.trace | tail -n 1)
[ "${cpu#*=}" -ge 1 ] || fail "nothing was computed by the CPU"
done=$(grep -o ' gpu_2048=[0-9]*' provider.trace | tail -n 1)
[ "${done#*=}" -ge 64 ] || fail "only${done} operations on the engine"
