# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts share; sourced, with the repository's root as the working
# directory.

# Meson looks for nvcc in PATH, and NVIDIA's installer does not put it there.
if ! command -v nvcc >/dev/null &&
    [ -x /usr/local/cuda/bin/nvcc ]; then
    PATH=$PATH:/usr/local/cuda/bin
fi

have_nvcc() {
    command -v nvcc >/dev/null
}

have_gpu() {
    [ -e /dev/nvidiactl ]
}

# configure DIRECTORY COMPILER MESON-OPTION...
# An old build directory is configured again, because packages may have been
# installed since.
configure() {
    local directory=$1 compiler=$2 again=()
    shift 2
    if [ -f "$directory/build.ninja" ]; then
        again=(--reconfigure)
    fi
    CC=$compiler meson setup "${again[@]}" "$directory" "$@"
}

# configure_and_build DIRECTORY COMPILER MESON-OPTION...
configure_and_build() {
    configure "$@" && ninja -C "$1"
}

# provider_configuration FILE MODULE KEY=VALUE...
# Writes a configuration: conf/openssl.cnf with this module and other values for
# some keys of the provider's section.
provider_configuration() {
    local file=$1 module=$2
    shift 2
    {
        echo ".include $PWD/conf/openssl.cnf"
        echo "[$(sed -n 's/^warprsa *= *//p' conf/openssl.cnf)]"
        printf '%s\n' "module = $module" "$@"
    } >"$file"
}
