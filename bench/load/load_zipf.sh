#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keys by Zipf's law, in a closed and an open loop. With an exponent of 10 one
# operation in 700,000 is with a key of rank 4 or more, so few of a hundred keys
# ever reach the engine; that of all alike many do is the control.
. "$(dirname "$0")/lib.sh"

load_until "started >= 40" --keys=1024x100 --in-flight=8 \
    --distribution=zipf:10 --subject="engine $ON_ENGINE"
check "1 rows" "${ENGINE_ALONE[@]}" "distribution == 'zipf:10'" "1 <= keys <= 4"

load_until "started >= 40" --keys=1024x100 --in-flight=8 \
    --subject="engine $ON_ENGINE"
check "1 rows" "${ENGINE_ALONE[@]}" "distribution == 'uniform'" "keys > 10"

# Each group of keys has the law for itself: of each length few are used.
load_until "started >= 40" --keys=1024x100,1536x100 --in-flight=8 --rate=100 \
    --distribution=zipf:10 --subject="engine $ON_ENGINE"
check "1 rows" "${ENGINE_ALONE[@]}" "loop == 'poisson'" "2 <= keys <= 8" \
    "0 < p50_us <= p99_us <= p999_us <= max_us"
