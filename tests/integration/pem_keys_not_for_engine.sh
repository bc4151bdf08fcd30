#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keys that no engine takes: too small, with three primes. libcrypto
# computes, and the counters say why. (A key without CRT parameters can't be
# written as PEM, and one that is too large takes long to make; unit tests have
# them.)
. "$(dirname "$0")/lib.sh"

rsa_key 768 small.pem
plain genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 \
    -pkeyopt rsa_keygen_primes:3 -out three.pem 2>/dev/null
plain pkey -in three.pem -pubout -out three.pem.pub
for key in small three; do
    sign_and_verify $key.pem
    expect_counters provider.trace gpu=0 cpu=1 cpu_unsupported_key=1
done
