#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A device that fails its known-answer test is not used at all.
. "$(dirname "$0")/lib.sh"

[ -e "$FAULTY_MODULE" ] || skip "no $FAULTY_MODULE"
configure faulty.cnf "$FAULTY_MODULE" engine="$ENGINE" route=gpu \
    startup_ms=60000
export CONF=$work/faulty.cnf
echo "to be signed" >message
rsa_key 2048 key.pem

WARPRSA_FAULT=flip,known_answer \
    with_provider dgst -sha256 -sign key.pem -out sig message
plain dgst -sha256 -verify key.pem.pub -signature sig message
expect_counters provider.trace gpu=0 cpu=1 cpu_no_device=1
grep -q 'known-answer test' provider.trace
