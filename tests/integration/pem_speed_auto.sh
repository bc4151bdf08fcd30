#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What README shows: `openssl speed` with async jobs and conf/openssl.cnf as it
# stands (route = auto, engine = auto). Its jobs make one operation after the
# other. The router sees that there are many all the same, and sends them to the
# GPU, or to the CPUs' engine where there is none. A single job, and a caller
# without jobs, stay with OpenSSL, and nothing is opened for them.
. "$(dirname "$0")/lib.sh"

[ "$ENGINE" != host ] || skip "auto never chooses the host engine"
export OPENSSL_MODULES=$BUILD_DIR/provider CONF=$SOURCE_DIR/conf/openssl.cnf

count() { # NAME: of the last process
    grep -o 'counters: .*' provider.trace | tail -n 1 |
        grep -o " $1=[0-9]*" | cut -d= -f2
}

# speed JOBS: sets `engine` and `cpu`, the operations by each; those that speed
# makes before it starts the jobs, one for each, do not count.
speed() {
    local jobs=()
    [ "$1" = 0 ] || jobs=(-async_jobs "$1")
    with_provider speed -elapsed -seconds 2 "${jobs[@]}" rsa2048 >speed.log 2>&1
    expect_counters provider.trace checks_failed=0
    engine=$(($(count gpu) + $(count ifma)))
    cpu=$(($(count cpu) - $1))
    echo "$1 jobs: $engine operations by the engine, $cpu by OpenSSL"
}

# A machine that stands still may leave no time for the engine to be opened, but
# not every time.
for jobs in 64 256 960; do
    for _ in 1 2 3 4 5; do
        speed "$jobs"
        [ "$engine" -lt $((9 * cpu)) ] || break
    done
    [ "$engine" -ge $((9 * cpu)) ] || fail "$jobs jobs hardly use the engine"
done
for jobs in 0 1; do
    speed "$jobs"
    [ "$engine" = 0 ] || fail "$jobs jobs use the engine"
    expect_counters provider.trace 'device="none' devices=0 slots=0
done
