#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests what the benchmarks of the kernels do without a GPU: they refuse bad
# arguments with status 2 and a message that names them, they list kernels and
# columns, and they end with a clear message if there is no device.
#
#   bench/programs/arguments.sh BUILD_DIR/bench/programs
set -euo pipefail
bench=$1
kernel_rate=$bench/kernel_rate
constant_time=$bench/constant_time

fail() {
    echo "arguments.sh: $*" >&2
    exit 1
}

refuses() { # WORDS PROGRAM ARGUMENT...
    local words=$1 status=0 said
    shift
    said=$("$@" 2>&1) || status=$?
    [ "$status" -eq 2 ] || fail "status $status, not 2: $*"
    grep -qF -- "$words" <<<"$said" || fail "no \"$words\" in: $said"
}

refuses '"1000" is not allowed; 1024, 2048' "$kernel_rate" --bits=1000
refuses '"2048,"' "$kernel_rate" --bits=2048,
refuses '"0"' "$kernel_rate" --batches=0
refuses '"-1"' "$kernel_rate" --batches=-1
refuses '"9999999999999999999999"' "$kernel_rate" \
    --batches=9999999999999999999999
refuses '"nonsense"' "$kernel_rate" --kernels=nonsense
refuses '""' "$kernel_rate" --kernels=cooperative,
refuses 'numbers up to 4096' "$kernel_rate" --keys=1,5000
refuses 'a number from 1 to 99' "$kernel_rate" --runs=x
refuses 'scan, direct' "$kernel_rate" --table-reads=direct,scan
refuses '"more"' "$kernel_rate" more
refuses 'unrecognized' "$kernel_rate" --unknown
refuses '--profile, --once or --timing' "$constant_time"
refuses '"paper"' "$constant_time" --timing --kernel=paper
refuses '1024, 2048, 3072, 4096' "$constant_time" --timing --bits=7
refuses '"0"' "$constant_time" --timing --batch=0

refuses '"all"' "$bench/card_facts" all
refuses 'usage: kernel_select' "$bench/kernel_select" --most=0
# It is built where it was asked for.
if [ -e "$bench/kernel_stages" ]; then
    refuses '1024, 2048, 3072, 4096' "$bench/kernel_stages" --bits=512
    refuses '"0"' "$bench/kernel_stages" --batch=0
fi

for name in cooperative auto; do
    "$kernel_rate" --list | grep -x $name || fail "--list has no $name"
done
"$constant_time" --list | grep -x control-branch ||
    fail "--list has no control"
# rate_row_write() prints 28 values a row, and `bench/plot kernels` finds
# them by these names.
[ "$("$kernel_rate" --csv-header | tr -cd , | wc -c)" -eq 27 ] ||
    fail "--csv-header has not 28 names"

[ ! -e /dev/nvidiactl ] || exit 0
status=0
said=$("$kernel_rate" --runs=1 2>&1) || status=$?
[ "$status" -eq 1 ] && grep -q '^kernel_rate: the device: ' <<<"$said" ||
    fail "no clear error without a GPU: $said"
