#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The open loop: arrivals come when they are due, and the time for which a
# device makes them wait shows in their latency.
. "$(dirname "$0")/lib.sh"

load_until "started > 0" --in-flight=4 --seconds=2 --rate=20,10 \
    --arrivals=even --subject="engine $ON_ENGINE"
check "2 rows" "${ENGINE_ALONE[@]}" "loop == 'even'" \
    "started + unstarted == 2 * offered"

load_until "started > 0" --in-flight=4 --rate=50% --subject="engine $ON_ENGINE"
check "2 rows" "${ENGINE_ALONE[@]}" "of_closed in (0, 50)" \
    "loop == ('poisson' if of_closed else 'closed')"

# A rate far beyond what can be done, with jobs and with blocking threads: most
# arrivals of half a second don't start, and count with the time they waited.
for how in --threads=1 --blocking; do
    load_until "p50_us > 100000 and max_us > 250000" "$how" --in-flight=1 \
        --rate=100000 --subject="engine $ON_ENGINE"
    check "1 rows" "${ENGINE_ALONE[@]}" "unstarted > started"
done

# A sample tells of what has ended since the sample before it.
load_until "operations > 0" --in-flight=2 --seconds=2 --interval=1 --rate=10 \
    --arrivals=even --samples=samples.csv --subject="engine $ON_ENGINE"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["rate"] > 0 && !(0 < $at["p50_us"] && $at["p50_us"] <= $at["p99_us"] &&
        $at["p99_us"] <= $at["p999_us"] && $at["p999_us"] <= $at["most_us"]) {
        print "a sample has no latency: " $0
        bad = 1
    }
    END { exit bad || NR != 3 }' samples.csv
