#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A device that fails during a batch: libcrypto computes the operations of the
# batch. Afterwards the host engine passes its known-answer test and computes
# the rest. A GPU, by CUDA's rules, can't be used by the process any more, and
# libcrypto computes the rest, too.
. "$(dirname "$0")/lib.sh"

use_faulty_module

if [ "$ENGINE" = cuda ]; then
    after=(devices=0 gpu=0)
    rest=cpu_no_device
else
    after=(devices=1)
    rest=${engine_counter}_2048
fi
# If the machine stops for these seconds, there is no time for the rest.
for _ in 1 2 3; do
    WARPRSA_FAULT=trap:1 with_provider speed -elapsed -seconds 4 \
        -async_jobs 16 rsa2048 >speed.log 2>&1
    grep -E '^rsa +2048 bits' speed.log
    expect_counters provider.trace device_losses=1 cpu_error=1 checks_failed=0
    value=$(grep -o " $rest=[0-9]*" provider.trace | tail -n 1)
    [ "${value#*=}" -lt 64 ] || break
done
expect_counters provider.trace "${after[@]}"
[ "${value#*=}" -ge 64 ] || fail "only$value"
