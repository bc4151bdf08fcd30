#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `openssl speed` with several processes of many async jobs each. A process has
# one descriptor per job, up to WARPRSA_NOTIFIERS_READY that the daemon has sent
# ahead, and none of a GPU's driver: 900 jobs fit below the 1,024 descriptors
# that select() takes.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

start_daemon
speed() { # OPTION...
    with_provider speed -elapsed -seconds 1 "$@" rsa1024 >speed.log 2>&1 ||
        fail "$(tail -n 5 speed.log)"
    grep -E '^rsa +1024 bits' speed.log
    ! grep -E 'failure|:error:' speed.log || fail "operations failed"
}
# On a slow machine a second may be too short for every job: another attempt.
before=0
for _ in 1 2 3 4 5; do
    speed -multi 4 -async_jobs 64
    speed -async_jobs 900
    ended=$(($(total "$engine_counter") - before))
    [ "$ended" -lt 2056 ] || break
    before=$(total "$engine_counter")
done
[ "$(total cpu)" = "$(total cpu_no_device)" ] ||
    fail "$(total cpu) operations left the daemon"
[ "$ended" -ge 2056 ] || fail "only $ended operations"
# What a client gave up, the daemon may have computed nevertheless.
computed=$(live "$daemon" "$engine_counter")
taken=$(total "$engine_counter")
if [ "$computed" -lt "$taken" ] ||
    [ "$computed" -gt $((taken + $(total cpu_no_device))) ]; then
    fail "the daemon counts $computed, its clients $taken"
fi
# No batch of the engine "ifma" is larger than eight.
[ "$ENGINE" = ifma ] || [ "$(live "$daemon" batch_max)" -gt 64 ] ||
    fail "the processes share no batches"
