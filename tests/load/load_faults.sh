#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Devices that fail under load: no operation is lost, fails or is wrong.
. "$(dirname "$0")/lib.sh"

[ -e "$FAULTY_MODULE" ] || skip "no $FAULTY_MODULE"
MODULE=$FAULTY_MODULE
settings="engine=$ENGINE route=gpu startup_ms=600000"

for fault in launch@2:1 trap@2:1; do
    WARPRSA_FAULT=$fault load_until "device_losses > 0" --in-flight=9 \
        --seconds=2 --subject="engine $settings deadline_ms=600000"
    check "1 rows" "${CLEAN[@]}" "cpu > 0" "device_losses == 1"
done

# A device that doesn't answer: the CPU computes its operations.
WARPRSA_FAULT=hang@2:1 load_until "cpu_deadline > 0" --in-flight=9 \
    --seconds=2 --subject="engine $settings deadline_ms=1000"
check "1 rows"

# One of two keys is damaged on the device: the check finds every result.
WARPRSA_FAULT=flip:1 load_until "gpu > 0 and cpu > 0" --in-flight=9 \
    --subject="engine $settings deadline_ms=600000"
check "1 rows" "${CLEAN[@]}" "checks_failed == cpu_check_failed == cpu"
