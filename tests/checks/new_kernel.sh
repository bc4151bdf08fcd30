#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A kernel is its folder and one line of gpu/kernels/kernel_list.h, as
# CONTRIBUTING.md says. In a copy of the tree this adds the kernel "trivial",
# which is "low_latency" under another name. The host engine must compute by it.
# Where there is nvcc, the kernel must compile. The control: with the folder
# alone nothing knows it.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/common.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

run() { # COMMAND...
    "$@" >"$tree/log" 2>&1 || {
        cat "$tree/log"
        echo "new_kernel.sh: failed: $*" >&2
        exit 1
    }
}

is_known() {
    meson introspect --tests "$tree/build" >"$tree/build/tests.json"
    grep -q '"gpu_engine_host_trivial"' "$tree/build/tests.json"
}

tar --exclude='./build*' --exclude=./.git -cf - . | tar -C "$tree" -xf -
kernels=$tree/gpu/kernels
mkdir "$kernels/trivial"
for file in "$kernels"/low_latency/*; do
    name=$(basename "$file")
    sed 's/low_latency/trivial/g' "$file" \
        >"$kernels/trivial/${name/low_latency/trivial}"
done
run meson setup "$tree/build" "$tree" -Dcuda=disabled -Doptimization=1
if is_known; then
    echo "new_kernel.sh: a kernel that is not listed is known" >&2
    exit 1
fi

echo 'WARPRSA_KERNEL(trivial)' >>"$kernels/kernel_list.h"
run ninja -C "$tree/build" tests/unit/gpu_engine
is_known || {
    echo "new_kernel.sh: the new kernel is in no test" >&2
    exit 1
}
run meson test -C "$tree/build" --no-rebuild gpu_engine_host_trivial

if have_nvcc; then
    run meson setup "$tree/build-cuda" "$tree" -Dcuda=enabled \
        -Dgpu_architectures=90 -Dtests=disabled
    run ninja -C "$tree/build-cuda" gpu/libwarprsa_gpu.a \
        gpu/kernels/libwarprsa_trivial_1024.a
fi
