#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A device that computes with the settings of conf/openssl.cnf takes at most
# 1 GiB of its memory, with full batches of keys of 1024 to 4096 bits. Longer
# keys take 27 MB more.
. "$(dirname "$0")/lib.sh"

most=1024 # MiB
need nvidia-smi
[ "$ENGINE" = cuda ] || skip "only a GPU has memory of its own"

used() { # MiB, of all GPUs and whatever other programs use
    nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits |
        awk '{ sum += $1 } END { print sum }'
}

before=$(used)
load --in-flight=8192 --seconds=3 --verify-every=64 \
    --keys=1024x2,2048x2,3072x2,4096x2 --subject="engine $ON_ENGINE" &
generator=$!
peak=$before
while kill -0 $generator 2>/dev/null; do
    now=$(used)
    [ "$now" -le "$peak" ] || peak=$now
    sleep 0.05
done
wait $generator
check "1 rows" "gpu > 0 and cpu == 0" "wrong == failed == lost == 0"
echo "$((peak - before)) MiB of the GPU's memory"
[ "$peak" -gt "$before" ] || fail "nvidia-smi saw no memory in use"
[ $((peak - before)) -le $most ] || fail "more than $most MiB"
