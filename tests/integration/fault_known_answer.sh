#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A device that fails its known-answer test is not used at all.
. "$(dirname "$0")/lib.sh"

use_faulty_module
rsa_key 2048 key.pem

WARPRSA_FAULT=flip,known_answer sign_and_verify key.pem
expect_counters provider.trace gpu=0 cpu=1 cpu_no_device=1
grep -q 'known-answer test' provider.trace
