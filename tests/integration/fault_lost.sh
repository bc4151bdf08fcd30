#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A device that is lost to the process for good, as a GPU is after a kernel that
# traps, with mode = process: libcrypto computes the operation under way and all
# later ones, each handshake of the server succeeds, and the next process has
# the device again.
. "$(dirname "$0")/lib.sh"

HANDSHAKES=5
use_faulty_module
rsa_key 2048 key.pem
self_signed key.pem certificate.pem

WARPRSA_FAULT=lost@1:1 serve_with_provider -naccept $HANDSHAKES
handshakes "$port" $HANDSHAKES
wait "$server" || :
expect_counters provider.trace "$engine_counter=1" cpu=$((HANDSHAKES - 1)) \
    cpu_error=1 cpu_no_device=$((HANDSHAKES - 2)) device_losses=1 devices=0 \
    checks_failed=0

rm provider.trace
serve_with_provider -naccept $HANDSHAKES
handshakes "$port" $HANDSHAKES
wait "$server" || :
expect_engine 2048 $HANDSHAKES
