# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What scripts/run and scripts/test share; sourced, with the repository's root
# as the working directory.

# Meson looks for nvcc in PATH and $NVCC; NVIDIA's installer puts it in neither.
if [ -z "${NVCC:-}" ] && ! command -v nvcc >/dev/null &&
    [ -x /usr/local/cuda/bin/nvcc ]; then
    export NVCC=/usr/local/cuda/bin/nvcc
fi

have_nvcc() {
    [ -n "${NVCC:-}" ] || command -v nvcc >/dev/null
}

have_gpu() {
    [ -e /dev/nvidiactl ]
}

# configure_and_build DIRECTORY COMPILER MESON-OPTION...
configure_and_build() {
    local directory=$1 compiler=$2
    shift 2
    if [ ! -f "$directory/build.ninja" ]; then
        rm -rf "$directory"
        CC=$compiler meson setup "$directory" "$@" || return 1
    fi
    ninja -C "$directory"
}
