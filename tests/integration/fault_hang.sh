#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A device that does not answer: libcrypto computes after the deadline, and the
# process can still end.
. "$(dirname "$0")/lib.sh"

use_faulty_module deadline_ms=500
rsa_key 2048 key.pem

export WARPRSA_FAULT=hang
sign_and_verify key.pem
expect_counters provider.trace gpu=0 cpu=1 cpu_deadline=1
