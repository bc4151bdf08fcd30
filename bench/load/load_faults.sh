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

# One of two keys is damaged on the device: the check finds every result. The
# device is opened again, with keys that are right.
WARPRSA_FAULT=flip:1 load_until "gpu > 0 and device_losses > 0" --in-flight=9 \
    --seconds=3 --subject="engine $settings deadline_ms=600000"
check "1 rows" "${CLEAN[@]}" "device_losses == 1" \
    "checks_failed == cpu_check_failed" "cpu_wrong_key == 0"

# Every result is wrong, and so are those of the test before the device would
# come back: the CPU computes. Few requests have been in vain; of the three it
# takes some may have come before the measurement.
WARPRSA_FAULT=wrong:1000000 load_until "cpu_no_device > 0" --in-flight=9 \
    --seconds=3 --subject="engine $settings deadline_ms=600000"
check "1 rows" "${CLEAN[@]}" "gpu == 0" "device_losses == 1" "devices == 0" \
    "1 <= checks_failed == cpu_check_failed < 50" "cpu_wrong_key == 0"

# All keys are damaged on the device, but not those of the test: it comes back,
# and is out of use for longer each time.
WARPRSA_FAULT=flip:1000000 load_until "device_losses > 1" --in-flight=9 \
    --seconds=4 --subject="engine $settings deadline_ms=600000"
check "1 rows" "${CLEAN[@]}" "gpu == 0" "device_losses <= 4" \
    "2 <= checks_failed == cpu_check_failed < 50"

# One result in 50 is wrong: too many for a device that is asked that often.
WARPRSA_FAULT=wrong%50 load_until "device_losses > 0" --in-flight=9 \
    --seconds=4 --subject="engine $settings deadline_ms=600000"
check "1 rows" "${CLEAN[@]}" "gpu > 0" "cpu_no_device > 0" \
    "1 <= checks_failed == cpu_check_failed < 50"
