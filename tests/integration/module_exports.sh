#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The module exports OSSL_provider_init and nothing else, and has nothing of CUDA
# in it. Nor does it need libm, which would be resident in each process. The
# library of the engine for GPUs exports its one name, and needs no driver to
# load. The PKCS #11 module exports the functions of PKCS #11, and nothing of the
# libcrypto that it has inside.
. "$(dirname "$0")/lib.sh"

need nm ldd readelf
exports=$(nm -D --defined-only "$MODULE" | awk '{ print $3 }')
[ "$exports" = OSSL_provider_init ] || fail "exported: $exports"
cuda=$BUILD_DIR/gpu/warprsa-cuda.so
for file in "$MODULE" "$cuda"; do
    [ -e "$file" ] || continue
    if ldd "$file" | grep -E 'libcuda|libcudart'; then
        fail "$file needs CUDA's libraries to load"
    fi
done
if grep nv_fatbin <<<"$(readelf -S -W "$MODULE")"; then
    fail "the module has kernels of GPUs"
fi
if [ -e "$cuda" ]; then
    exports=$(nm -D --defined-only "$cuda" | awk '{ print $3 }')
    [ "$exports" = warprsa_cuda_library_is ] || fail "exported: $exports"
fi
if [ "$(uname -m)" = x86_64 ] &&
    grep 'NEEDED.*libm\.so' <<<"$(readelf -d "$MODULE")"; then
    fail "the module needs libm"
fi

pkcs11=$BUILD_DIR/pkcs11/warprsa-pkcs11.so
if [ -e "$pkcs11" ]; then
    exports=$(nm -D --defined-only "$pkcs11" | awk '{ print $3 }')
    ! grep -v '^C_[A-Z]' <<<"$exports" || fail "$pkcs11 exports more"
    # 68 functions of 2.40 and 24 of 3.0.
    [ "$(wc -l <<<"$exports")" = 92 ] || fail "exported: $exports"
    ! grep -E 'libnghttp2|libssl' <<<"$(readelf -d "$pkcs11")" ||
        fail "$pkcs11 needs libraries of the network"
    if pkg-config --static --exists libcrypto &&
        [ -e "$(pkg-config --variable=libdir libcrypto)/libcrypto.a" ] &&
        grep 'NEEDED.*libcrypto' <<<"$(readelf -d "$pkcs11")"; then
        fail "$pkcs11 needs the program's libcrypto"
    fi
fi
