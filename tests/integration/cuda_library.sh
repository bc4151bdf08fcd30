#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The library of the engine for GPUs is missing, no library, of something else,
# or of another version: libcrypto computes, the caller sees no error, and the
# reason is named. One that fits is used. It is looked for in one place, whatever
# the environment says.
. "$(dirname "$0")/lib.sh"

libraries=$BUILD_DIR/tests/integration
module=$libraries/warprsa_elsewhere.so # opens $place
place=$libraries/cuda/warprsa-cuda.so
[ "$ENGINE" = host ] || skip "the same on every engine"
[ -e "$module" ] || skip "no $module"
at_end() {
    rm -rf "$libraries/cuda"
}
at_end
mkdir "$libraries/cuda"
rsa_key 2048 key.pem
configure elsewhere.cnf "$module" engine=cuda "${PATIENT[@]}" cpu_threads=0
export CONF=$work/elsewhere.cnf

is_refused() { # REASON
    rm -f provider.trace
    sign_and_verify key.pem
    grep -qF "$1" provider.trace || fail "wanted '$1': $(cat provider.trace)"
    expect_counters provider.trace gpu=0 cpu=1 cpu_no_device=1
}

is_refused "no CUDA library is installed: $place"
mkdir elsewhere
cp "$libraries/cuda_library_fits.so" elsewhere/warprsa-cuda.so
LD_LIBRARY_PATH=$PWD/elsewhere is_refused "no CUDA library is installed"

mkdir "$place"
is_refused "the CUDA library cannot be loaded"
rmdir "$place"
echo "no library" >"$place"
is_refused "the CUDA library cannot be loaded"
cp "$libraries/cuda_library_foreign.so" "$place"
is_refused "the CUDA library is none of warprsa"
cp "$libraries/cuda_library_other.so" "$place"
is_refused "the CUDA library is of warprsa 0.0.1 (000000000000), this is"
cp "$libraries/cuda_library_fits.so" "$place"
if [ "$(id -u)" -ne 0 ]; then
    chmod 000 "$place"
    is_refused "the CUDA library cannot be loaded"
    chmod 755 "$place"
fi

rm provider.trace
sign_and_verify key.pem
expect_counters provider.trace gpu=1 cpu=0 checks_failed=0
