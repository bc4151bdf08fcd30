#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A real network between a TLS host and a GPU host: two network namespaces with
# a veth pair between them. The GPU host vanishes without a word and comes back;
# where the kernel has netem, packets are late and lost, too. No operation
# fails, and none waits longer than the deadline.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/remote_load.sh"

need ip
here=warprsa-tls-$$
there=warprsa-gpu-$$
at_end() {
    : >enough
    ip netns del "$here" 2>/dev/null || :
    ip netns del "$there" 2>/dev/null || :
}
ip netns add "$here" 2>/dev/null && ip netns add "$there" 2>/dev/null &&
    ip -n "$here" link add wire type veth peer name wire netns "$there" \
        2>/dev/null || skip "no network namespaces here"
ip -n "$here" address add 10.99.0.1/24 dev wire
ip -n "$there" address add 10.99.0.2/24 dev wire
ip -n "$here" link set wire up
ip -n "$there" link set wire up

authority ca
certificate host ca IP:10.99.0.2
certificate web ca DNS:web1.example.org
echo 'dns:web1.example.org' >map
before_host=(ip netns exec "$there")
tls host
start_gpu_host host --listen=10.99.0.2:7443 "${tls[@]}" \
    --identities="$work/map" --deadline-ms=60000
before_remote=(ip netns exec "$here")
tls web
start_remote --remote-hosts=10.99.0.2:7443 "${tls[@]}" --deadline-ms=1000
logged() { # TIMES TEXT
    local times=$1
    shift
    has_logged() {
        [ "$(grep -cF -- "$1" daemon.log)" -ge "$times" ]
    }
    wait_for 120 has_logged "$*"
}
logged 1 'in use, 10.99.0.2'

configure openssl.cnf "$MODULE" "${WITH_DAEMON[@]}" route=gpu \
    startup_ms=10000 deadline_ms=5000
start_load -seconds 3 -async_jobs 16
computes

# Gone without a word: no packet comes through, and none says so.
ip -n "$there" link set wire down
logged 1 'not heard of for 5 s'
ip -n "$there" link set wire up
logged 2 'in use, 10.99.0.2'
computes

netem() { # WHAT...
    ip netns exec "$here" tc qdisc replace dev wire root netem "$@" 2>/dev/null
}
if command -v tc >/dev/null && netem delay 2ms loss 0.1%; then
    computes
    netem delay 50ms 20ms loss 2%
    computes
    netem delay 1ms rate 2mbit
    computes
    netem loss 100%
    logged 2 'not heard of for 5 s'
    ip netns exec "$here" tc qdisc del dev wire root
    logged 3 'in use, 10.99.0.2'
    computes
else
    echo "no netem here: delay and loss left out"
fi
end_load
