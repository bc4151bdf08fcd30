#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The control of scripts/checks/includes: it must pass a tree in order and find
# each fault that is planted in one.
set -euo pipefail
cd "$(dirname "$0")/../.."
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

fail() { # MESSAGE
    echo "includes.sh: $1" >&2
    exit 1
}

put() { # FILE LINE...
    mkdir -p "$tree/$(dirname "$1")"
    printf '%s\n' "${@:2}" >"$tree/$1"
}

include() { # FILE HEADER...
    local file=$1 header lines=()
    shift
    for header; do
        lines+=("#include \"$header\"")
    done
    put "$file" "${lines[@]}"
}

sound_tree() {
    rm -rf "${tree:?}"/*
    put batching/base/ring.h
    put gpu/engine.h
    put gpu/arith/key.h
    include gpu/kernels/kernels.h gpu/arith/key.h
    include gpu/kernels/one/one.h gpu/kernels/kernels.h
    put gpu/kernels/two/two.h
    include gpu/select/choice.h gpu/engine.h gpu/kernels/kernels.h
    include batching/queue/queue.h gpu/engine.h batching/base/ring.h
    include batching/queue/queue.c batching/queue/queue.h
    include batching/daemon/wire/shm.h batching/queue/queue.h
    include batching/daemon/client/client.h batching/daemon/wire/shm.h
    include provider/core.h batching/daemon/client/client.h
    include tests/unit/any.c batching/queue/queue.h provider/core.h
}

finds() { # WORDS: after this fault was planted
    local said status=0
    said=$(scripts/checks/includes "$tree" 2>&1) || status=$?
    [ "$status" -eq 1 ] && grep -qF -- "$1" <<<"$said" ||
        fail "status $status, and no \"$1\" in: $said"
    sound_tree
}

sound_tree
scripts/checks/includes "$tree" >/dev/null || fail "a tree in order is refused"

include gpu/kernels/kernels.h gpu/select/choice.h
finds "gpu/kernels may not include gpu/select"

include gpu/kernels/two/two.h gpu/kernels/one/one.h
finds "one kernel includes another"

include batching/queue/queue.h gpu/arith/key.h
finds "batching/queue may not include gpu/arith"

put gpu/fault.h
include batching/queue/queue.h gpu/fault.h
finds "gpu/engine.h is the only header of gpu/ for others"

include batching/queue/queue.c batching/daemon/wire/shm.h
finds "batching/queue may not include batching/daemon/wire"

include provider/core.h tests/unit/any.c
finds "the product includes a test's file"

include batching/queue/queue.h batching/nothing.h
finds "no such file in the tree"

include batching/queue/queue_device.h batching/queue/queue.h
include batching/queue/queue.c batching/queue/queue_device.h
finds "circle of includes among 2 modules (batching/queue/queue, batching/queue/queue_device)"

put batching/queue/both.h 'int warprsa_one(void);' 'int warprsa_two(void);'
put batching/queue/one.c 'int warprsa_one(void)' '{' '    return warprsa_two();' '}'
put batching/queue/two.c 'int warprsa_two(void)' '{' '    return warprsa_one();' '}'
finds "circle of calls among 2 modules (batching/queue/one, batching/queue/two)"

put batching/queue/queue_core.h
include batching/queue/device_types.h batching/queue/queue_core.h
finds "batching/queue/device_types.h (floor 4) knows batching/queue/queue_core.h (floor 4)"

put batching/queue/worker.c 'int warprsa_work(void)' '{' '    return 1;' '}'
put batching/queue/router.c 'int warprsa_route(void)' '{' '    return warprsa_work();' '}'
finds "batching/queue/router.c (floor 3) knows batching/queue/worker.c (floor 7)"

put batching/queue/new.h
include batching/queue/queue.c batching/queue/new.h
finds "batching/queue/new.h (floor 0)"
