#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `bench/report --card` without a GPU: what it says where it cannot measure, and
# the block that it makes of what two stand-ins for its programs print.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(mktemp -d)
programs=$build/bench/programs
trap 'rm -rf "$build"' EXIT
export BUILD_DIR=$build WARPRSA_BENCH_REVISION=0123456789ab

fail() { # MESSAGE
    echo "report_card.sh: $1" >&2
    exit 1
}

program() { # NAME, its script on the standard input
    { echo '#!/bin/sh' && cat; } >"$programs/$1"
    chmod +x "$programs/$1"
}

report() { # STATUS: sets $said
    local status=0
    said=$(bench/report --card 2>&1) || status=$?
    [ "$status" -eq "$1" ] || fail "status $status, not $1: $said"
}

says() { # WORDS
    grep -qF -- "$1" <<<"$said" || fail "no \"$1\" in: $said"
}

report 1
says "there is no $programs/card_facts: build with the GPU engine"

mkdir -p "$programs"
program card_facts <<<'echo "card_facts: no driver" >&2; exit 1'
report 1
says "no card to measure: card_facts: no driver"

program card_facts <<'END'
echo "card: NVIDIA Test 1"
echo "kernel thread: suits 4 3 2 1"
echo "kernel fold: suits 0 4000000 2 1"
echo "kernel int32: left out 9 9 9 9"
END
program kernel_rate <<'END'
for option; do
    case $option in
    --kernels=*) [ "$option" = --kernels=thread,fold ] || exit 1 ;;
    --csv=*) file=${option#--csv=} ;;
    esac
done
echo kernel,keys,bits,batch,kernel_ms,operations_per_s,clock_mhz,checked >"$file"
echo '"paper, baseline",16,2048,50688,37.7,1341990,1976,32' >>"$file"
echo '"paper",16,2048,1,3.3,300,1976,2' >>"$file"
echo '"fold",1,2048,50688,20.2252,2506186,1975,32' >>"$file"
END
report 0
[ "$(grep -c '^```$' <<<"$said")" -eq 2 ] || fail "no block: $said"
says "warprsa 0123456789ab"
says "card: NVIDIA Test 1"
says "paper, baseline"
grep -qE "fold +1 +50,688 +20.23 +2,506,186 +4,000,000 +1975" <<<"$said" ||
    fail "no row of fold: $said"
says "66 results were compared"

# What was measured before a failure is shown.
cat >>"$programs/kernel_rate" <<<'echo "kernel_rate: a result is wrong" >&2; exit 1'
report 1
says "20.23"
says "kernel_rate failed: kernel_rate: a result is wrong"
