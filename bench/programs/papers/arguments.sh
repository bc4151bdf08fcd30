#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests what the papers' benchmark does without a GPU: it refuses bad arguments
# with status 2 and a message that names them, and lists its systems.
#
#   bench/programs/papers/arguments.sh BUILD_DIR/bench/programs/papers/papers
set -euo pipefail
papers=$1

fail() {
    echo "arguments.sh: $*" >&2
    exit 1
}

refuses() { # WORDS ARGUMENT...
    local words=$1 status=0 said
    shift
    said=$("$papers" "$@" 2>&1) || status=$?
    [ "$status" -eq 2 ] || fail "status $status, not 2: $*"
    grep -qF -- "$words" <<<"$said" || fail "no \"$words\" in: $said"
}

refuses '"nonsense"' nonsense
refuses 'one system at most, not also: "rns"' cios rns
refuses '"0"' --runs=0
refuses '"10"' --runs=10
refuses 'unrecognized' --unknown
grep -qx narrow <<<"$("$papers" --list)" || fail "--list has no system"

[ ! -e /dev/nvidiactl ] || exit 0
status=0
said=$("$papers" --quick 2>&1) || status=$?
[ "$status" -eq 1 ] && grep -q '^papers: the device: ' <<<"$said" ||
    fail "no clear error without a GPU: $said"
