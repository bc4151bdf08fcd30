#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Blocking: threads that sleep in their operations.
. "$(dirname "$0")/lib.sh"

load_until "started > 0" --blocking --in-flight=1,3 --mix=pkcs1,pss,oaep \
    --subject="engine $ON_ENGINE"
check "2 rows" "${ENGINE_ALONE[@]}" "threads == in_flight" \
    "callers == 'blocking'"
