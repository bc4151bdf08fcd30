#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The module exports OSSL_provider_init and nothing else, and needs no driver
# to load.
. "$(dirname "$0")/lib.sh"

need nm ldd
exports=$(nm -D --defined-only "$MODULE" | awk '{ print $3 }')
[ "$exports" = OSSL_provider_init ] || fail "exported: $exports"
if ldd "$MODULE" | grep -E 'libcuda|libcudart'; then
    fail "the module needs CUDA's libraries to load"
fi
