#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who floods warprsad-gateway costs nobody else anything (remote_floods.py,
# key_updates.c): memory stays, an honest host is served each time, and the log
# has what it did and how many lines were left out.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/gpu_host.sh"

need_python 'hpack, hyperframe' python3-h2

authority ca
certificate host ca DNS:gpu.example.org
certificate web ca DNS:web1.example.org
certificate other ca DNS:web2.example.org
certificate stranger ca DNS:web3.example.org
certificate third ca DNS:web4.example.org
certificate caller ca DNS:web5.example.org
printf 'dns:web%d.example.org\n' 1 2 4 5 >map
tls host
start_gpu_host host "${tls[@]}" --identities="$work/map"
first=$(gateway_serving)
flood() { # WHAT NAME HONEST [PID]
    timeout 300 "$python" "$SOURCE_DIR/tests/integration/remote_floods.py" \
        "127.0.0.1:$port" "${4:-$first}" ca.pem "$2" "$3" "$1" || fail "$1, by $2"
}
flood resets other web
flood resets stranger web
flood silence stranger web
flood noise stranger third
flood keys other web
flood calls caller web "$(pgrep -P "$host" | head -n 1)"
wait_for 60 grep -qE '[0-9]+ lines about strangers were left out' host.gateway.log
connected=$(grep -c '(dns:web4.example.org): connected' host.gateway.log)
[ "$connected" = 8 ] || fail "the log lacks lines about the honest host"

# Ten of them are nothing; thousands without data are.
update_keys() { # NAME COUNT
    timeout 120 "$BUILD_DIR/tests/integration/key_updates" "$port" ca.pem \
        "$1.pem" "$1.key" "$2"
}
[ "$(update_keys other 10)" = taken ] || fail "ten key updates are refused"
for name in other stranger; do
    [ "$(update_keys "$name" 10000)" = closed ] ||
        fail "$name updates its keys without end"
done
wait_for 60 grep -q 'web2.*too many messages of TLS that carry nothing' \
    host.gateway.log
[ "$(gateway_serving)" = "$first" ] || fail "another process serves"
terminate "$gateway"
