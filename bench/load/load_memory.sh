#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A process that loads the module and opens no device has hardly more memory
# resident than one with the default provider.
. "$(dirname "$0")/lib.sh"

need nm
if grep -qE '__(asan|tsan|ubsan)_' <<<"$(nm -D "$MODULE")"; then
    skip "sanitizers take memory of their own"
fi
load --blocking --in-flight=1 --keys=2048 --devices=0 --subject=default \
    --subject=idle
check "2 rows" "${CLEAN[@]}"
python3 - <<'END'
import csv
default, idle = (int(row["memory_kib"]) for row in csv.DictReader(open("rows.csv")))
print(f"default {default} KiB, with the module {idle} KiB")
assert idle <= default + 2048
END
