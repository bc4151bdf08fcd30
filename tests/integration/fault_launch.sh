#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Batches that can't be launched: libcrypto computes.
. "$(dirname "$0")/lib.sh"

use_faulty_module
rsa_key 2048 key.pem

WARPRSA_FAULT=launch sign_and_verify key.pem
expect_counters provider.trace "$engine_counter=0" cpu=1 cpu_error=1 device_losses=1
