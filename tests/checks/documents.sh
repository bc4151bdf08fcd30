#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The control of `bench/table documents`: it must fill a page's tables, pass what
# it filled, and find each fault that is planted in a page or its files.
set -euo pipefail
cd "$(dirname "$0")/../.."
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/bench" "$tree/doc/data"
cp bench/table "$tree/bench"

fail() { # MESSAGE
    echo "documents.sh: $1" >&2
    exit 1
}

measured() { # FILE TABLE REVISION RATE
    {
        printf 'revision,date,machine,load,card,driver,clock_mhz,power_w,'
        printf 'openssl,command,table,heading,row,column,unit,runs,median,'
        printf 'least,most\n%s,2000-01-01,1 CPU,0,card,1,2,3,OpenSSL,bench/x,' "$3"
        printf '%s,,a row,a column,/s,3,%s,%s,%s\n' "$2" "$4" "$4" "$4"
    } >"$tree/doc/data/$1.csv"
}

page() { # LINE...
    printf '%s\n' "$@" >"$tree/README.md"
}

table() {
    python3 "$tree/bench/table" documents "$@" 2>&1
}

finds() { # TEXT
    local found
    ! found=$(table --check) || fail "not found: $1"
    [[ $found == *"$1"* ]] || fail "instead of \"$1\": $found"
}

measured one first 0123abc 1000
page 'Before.' '<!-- table: first -->' 'old' '<!-- end -->' 'After.'
finds 'table first is not what its file gives'
table >/dev/null || fail 'it cannot fill a page'
table --check >/dev/null || fail 'it does not pass what it filled'
grep -qx '| a row | 1,000 |' "$tree/README.md" || fail 'no such row'
grep -qx 'After.' "$tree/README.md" || fail 'it ate what follows'

measured one first 0123abc 1001
finds 'table first is not what its file gives'
table >/dev/null || fail 'it cannot fill a page again'

measured two second 4567def 2
printf '<!-- table: second -->\n<!-- end -->\n' >>"$tree/README.md"
! table >/dev/null || fail 'it mixes revisions'
finds 'several revisions: 0123abc, 4567def'

page '<!-- table: third -->' '<!-- end -->'
finds 'no file of doc/data has a table third'

page '![a plot](doc/data/one.svg)'
finds 'doc/data/one.svg is not drawn from its file'
sha256sum <"$tree/doc/data/one.csv" >"$tree/doc/data/one.svg"
table --check >/dev/null || fail 'it does not pass a plot of its file'
