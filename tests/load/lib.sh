# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests of the load generator share; sourced by each.
LOAD_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../integration/lib.sh
. "$LOAD_DIR/../integration/lib.sh"
LOAD=$BUILD_DIR/tests/load/warprsa-load

# The settings of a subject whose every operation goes to the engine.
ON_ENGINE="engine=$ENGINE route=gpu startup_ms=600000 deadline_ms=600000"

# Runs the generator on few threads, with results in rows.csv and rows.json.
load() {
    "$LOAD" --module="$MODULE" --threads=2 --csv=rows.csv --json=rows.json \
        --warm-up=0 --seconds=0.5 --keys=1024x2 --verify-every=1 "$@"
}

# What it must say of each measurement.
check() { # CHECK...
    python3 "$LOAD_DIR/check_rows.py" rows.csv rows.json "$@"
}

# Nothing lost, nothing wrong, everything looked at.
CLEAN=("operations <= started and started > 0"
    "wrong == failed == lost == uncounted == 0"
    "verified == started")
# And all of it computed by the engine.
ENGINE_ALONE=("${CLEAN[@]}" "gpu == started and cpu == 0"
    "batches > 0 and checks_failed == 0 and device_losses == 0")
