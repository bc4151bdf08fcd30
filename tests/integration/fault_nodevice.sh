#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The driver reports no device: libcrypto computes at once.
. "$(dirname "$0")/lib.sh"

use_faulty_module
rsa_key 2048 key.pem

WARPRSA_FAULT=nodevice sign_and_verify key.pem
expect_counters provider.trace gpu=0 cpu=1 cpu_no_device=1
