#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A device that breaks under a batch: libcrypto computes what was in it. The
# host engine passes its known-answer test then and takes the rest; a GPU is
# lost to the process, by CUDA's rules, and libcrypto computes the rest, too.
. "$(dirname "$0")/lib.sh"

use_faulty_module

expect_at_least() { # COUNT NAME
    local value
    value=$(grep -o " $2=[0-9]*" provider.trace | tail -n 1)
    [ "${value#*=}" -ge "$1" ] || fail "only$value"
}

WARPRSA_FAULT=trap:1 with_provider speed -elapsed -seconds 4 -async_jobs 16 \
    rsa2048 >speed.log 2>&1
grep -E '^rsa +2048 bits' speed.log
expect_counters provider.trace device_losses=1 cpu_error=1 checks_failed=0
if [ "$ENGINE" = cuda ]; then
    expect_counters provider.trace devices=0 gpu=0
    expect_at_least 64 cpu_no_device
else
    expect_counters provider.trace devices=1
    expect_at_least 64 gpu_2048
fi
