#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The module chooses: every operation is computed once and counted where it was.
. "$(dirname "$0")/lib.sh"

load_until "started > 0" --in-flight=1,64 --keys=2048x2 --devices-seconds=2 \
    --subject="auto engine=$ENGINE route=auto deadline_ms=600000"
check "2 rows" "${CLEAN[@]}" "gpu + cpu == started" "cpu_route + cpu_overflow + cpu_starting == cpu"
