# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests of the load generator share; sourced by each.
LOAD_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../../tests/integration/lib.sh
. "$LOAD_DIR/../../tests/integration/lib.sh"
LOAD=$BUILD_DIR/bench/load/warprsa-load

# The settings of a subject whose every operation goes to the engine.
# shellcheck disable=SC2034 # the scripts that source this one use it
ON_ENGINE="engine=$ENGINE route=gpu startup_ms=600000 deadline_ms=600000"

# Runs the generator on few threads, with results in rows.csv and rows.json.
load() {
    "$LOAD" --module="$MODULE" --threads=2 --csv=rows.csv --json=rows.json \
        --warm-up=0 --seconds=0.5 --keys=1024x2 --verify-every=1 "$@"
}

# Checks each measurement that load() wrote (check_rows.py).
check() { # CHECK...
    python3 "$LOAD_DIR/check_rows.py" rows.csv rows.json "$@"
}

# load_until CHECK LOAD-ARGUMENT...: measures until CHECK holds, five times at
# most. On a machine that stops now and then, a short measurement may end
# before much was done. What must hold for any measurement, the caller checks.
load_until() {
    local wanted=$1 status i
    shift
    for ((i = 0; i < 5; i++)); do
        status=0
        load "$@" 2>complaints || status=$?
        cat complaints >&2
        if [ "$status" -ne 0 ]; then
            grep -q 'the closed loop ended no operation' complaints || return 1
        else
            check "${CLEAN[@]}" || return 1
            ! check "$wanted" 2>/dev/null || return 0
        fi
    done
    fail "five times not $wanted"
}

# No operation was lost or wrong, and all were verified.
CLEAN=("operations <= started"
    "wrong == failed == lost == uncounted == 0"
    "verified == started")
# The same, and all operations were computed by the engine.
# shellcheck disable=SC2034 # the scripts that source this one use it
ENGINE_ALONE=("${CLEAN[@]}" "gpu == started and cpu == 0"
    "batches > 0 and checks_failed == 0 and device_losses == 0")
