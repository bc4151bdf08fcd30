#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# route = cpu: libcrypto computes, and the counters say so.
. "$(dirname "$0")/lib.sh"

configure cpu.cnf "$MODULE" engine="$ENGINE" route=cpu
rsa_key 2048 key.pem
CONF=cpu.cnf sign_and_verify key.pem
expect_counters provider.trace gpu=0 cpu=1 cpu_route=1
