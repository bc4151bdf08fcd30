#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The module exports OSSL_provider_init and nothing else, and needs no driver to
# load. Nor does it need libm, which would be resident in each process.
. "$(dirname "$0")/lib.sh"

need nm ldd readelf
exports=$(nm -D --defined-only "$MODULE" | awk '{ print $3 }')
[ "$exports" = OSSL_provider_init ] || fail "exported: $exports"
if ldd "$MODULE" | grep -E 'libcuda|libcudart'; then
    fail "the module needs CUDA's libraries to load"
fi
if [ "$(uname -m)" = x86_64 ] &&
    grep 'NEEDED.*libm\.so' <<<"$(readelf -d "$MODULE")"; then
    fail "the module needs libm"
fi
