#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The closed loop with async jobs: woken by callback and by descriptor, contexts
# kept and fresh, all kinds of operations, keys of several lengths.
. "$(dirname "$0")/lib.sh"

for how in "--wake=callback --contexts=kept" "--wake=fd --contexts=fresh"; do
    # shellcheck disable=SC2086
    load_until "operations > 0" $how --in-flight=1,7 --runs=2 \
        --mix=pkcs1:2,bare,raw,pss,oaep \
        --keys=1024x3:3,1026x2,1536x1 --subject="engine $ON_ENGINE"
    check "4 rows" "${ENGINE_ALONE[@]}" "loop == 'closed'" \
        "threads == min(2, in_flight)" "0 < p50_us <= p99_us <= max_us" \
        "rate > 0 and cpu_us > 0 and memory_kib > 0"
done

# In the same run: the default provider, which counts nothing, and the module
# with route=cpu.
load_until "started > 0" --jobs=3 --subject=default \
    --subject="cpu engine=$ENGINE route=cpu"
check "2 rows" "${CLEAN[@]}" "in_flight == 6" "gpu == 0" \
    "cpu == (0 if subject == 'default' else started)" "cpu_route == cpu"
