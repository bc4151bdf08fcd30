#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A GPU without memory for the tables of long batches: it computes them all the
# same, in pieces.
. "$(dirname "$0")/lib.sh"

[ -e "$FAULTY_MODULE" ] || skip "no $FAULTY_MODULE"
MODULE=$FAULTY_MODULE
export WARPRSA_TRACE=file:$work/provider.trace
for keys in 2048x1 2048x8 4096x8; do
    rm -f provider.trace
    WARPRSA_FAULT=memory load_until "gpu > 4 * batches" --in-flight=1024 \
        --keys=$keys --seconds=1 \
        --subject="engine $ON_ENGINE streams=1 batch_max=1024"
    check "1 rows" "${ENGINE_ALONE[@]}"
done
grep 'scratch memory for a long batch' provider.trace ||
    fail "no batch was in pieces"
