#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tables of doc/papers.md are those that `bench/table papers` makes of
# doc/data: no line of them is missing. Control: one that is not there is missed.
set -euo pipefail
cd "$(dirname "$0")/../../.."

missing() { # from standard input
    grep -vxFf doc/papers.md
}

tables=$(bench/table papers doc/data/papers-h200.csv \
    doc/data/papers-kernels-h200.csv)
[ "$(grep -c '^|' <<<"$tables")" -gt 60 ] || {
    echo "tables.sh: bench/table prints too little" >&2
    exit 1
}
if missing < <(grep . <<<"$tables"); then
    echo "tables.sh: doc/papers.md lacks the lines above" >&2
    exit 1
fi
missing <<<"| no | such | row |" >/dev/null || {
    echo "tables.sh: a missing line is not seen" >&2
    exit 1
}
