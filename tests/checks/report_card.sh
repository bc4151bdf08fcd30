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
touch "$(dirname "$0")/ran"
for option; do
    case $option in
    --kernels=*) [ "$option" = --kernels=thread,fold ] || exit 1 ;;
    --csv=*) file=${option#--csv=} ;;
    esac
done
cp "$(dirname "$0")/rates.csv" "$file"
END
# As kernel_rate writes it: its own names of the columns, and rows of an H100,
# with a comma in the card's name.
{
    sed -n '/rate_csv_header\[\] =/,/;/s/.*"\(.*\)".*/\1/p' \
        bench/programs/rate_row.c | tr -d '\n' | sed 's/\\n/\n/'
    row() { # KERNEL,KEYS,READS BATCH TIMES,RATE CLOCK CHECKED
        printf '"NVIDIA Test, 1",%s,2048,%s,%s,' "$1" "$2" "$3"
        echo "2683980,95.2,0.8,1.0,1.0,64,0,0,128,1584,12,1,$4,$5"
    }
    row '"paper, baseline",16,direct' 50688 37.7,37.6,37.8,,,,1341990, 1976 32
    row '"paper",16,direct' 1 3.3,3.2,3.4,,,,300, 1976 2
    row '"fold",1,scan' 50688 20.2252,20.1,20.3,21,20.9,21.1,2506186,2413714 \
        1975 32
} >"$programs/rates.csv"
columns=$(head -n 1 "$programs/rates.csv" | tr -cd , | wc -c)
[ "$columns" -gt 20 ] || fail "no columns in bench/programs/rate_row.c"
python3 - "$programs/rates.csv" <<'END' || fail "rows do not have the columns"
import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
sys.exit(any(len(row) != len(rows[0]) for row in rows))
END
report 0
[ "$(grep -c '^```$' <<<"$said")" -eq 2 ] || fail "no block: $said"
says "warprsa 0123456789ab"
says "card: NVIDIA Test 1"
says "paper, baseline"
grep -qE "fold +1 +50,688 +20.23 +2,506,186 +4,000,000 +1975" <<<"$said" ||
    fail "no row of fold: $said"
says "66 results were compared"

# The options are some that kernel_rate has.
for option in bits batches keys runs checks csv kernels; do
    grep -q "{\"$option\", required_argument" bench/programs/rate_options.c ||
        fail "kernel_rate has no --$option"
done

# Without a revision nothing is measured.
program git <<<'exit 1'
rm "$programs/ran" # the control: it ran above
PATH=$programs:$PATH WARPRSA_BENCH_REVISION='' report 1
says "set WARPRSA_BENCH_REVISION"
[ ! -e "$programs/ran" ] || fail "it measured without a revision"
rm "$programs/git"

# What was measured before a failure is shown.
cat >>"$programs/kernel_rate" <<<'echo "kernel_rate: a result is wrong" >&2; exit 1'
report 1
says "20.23"
says "kernel_rate failed: kernel_rate: a result is wrong"
