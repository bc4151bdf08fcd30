#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whom warprsad believes about identities of the network: the user that
# gateway_user names, and its own. Another user of the socket's group that speaks
# for an identity loses its control connection, and a name that is no user's is a
# mistake.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/gpu_host.sh"

need setpriv
as_root "processes of other users"
group=$(getent group nogroup | cut -d: -f1)
getent passwd nobody >/dev/null && [ -n "$group" ] ||
    skip "no user nobody or group nogroup here"
need_grpc
authority ca
certificate server ca DNS:gpu.example.org
certificate web1 ca DNS:web1.example.org
rsa_key 1024 key.pem
echo 'dns:web1.example.org' >map
# These users may have no access to the build folder.
cp "$GATEWAY" warprsad-gateway
GATEWAY=$work/warprsad-gateway
chmod a+rX . ./*.pem map warprsad-gateway

client() { # WHAT [ARGUMENT...]
    timeout 120 "$python" "$SOURCE_DIR/tests/integration/remote_client.py" \
        "127.0.0.1:$port" "$work" ca.pem web1.pem web1.key "$@"
}

start_gateway_as() { # USER
    cp server.key "$1.key"
    chown "$1" "$1.key"
    before_host=(setpriv "--reuid=$1" "--regid=$group" --clear-groups)
    tls server
    start_gateway warprsad "${tls[@]}" --tls-key="$work/$1.key" \
        --identities="$work/map"
}

! timeout 60 "$BUILD_DIR/batching/daemon/warprsad" --engine=host \
    --socket="$work/r" --gateway-user=no-such-user >refused.log 2>&1 ||
    fail "any name is taken"
grep -q 'gateway_user = no-such-user: expected the name of a user' refused.log ||
    fail "$(cat refused.log)"

start_daemon --group "$group" --gateway-user=nobody
start_gateway_as nobody
client sign key.pem 20
[ "$(live "$daemon" gpu)" -ge 20 ] || fail "who has computed that?"
grep -q 'for dns:web1.example.org connected' daemon.log || fail "for whom?"
terminate "$gateway"

# It has sessions of its own, as any user has, and is of no use to hosts.
before=$(live "$daemon" gpu)
gateway_says='listening on'
start_gateway_as 61000
wait_for 60 grep -q 'user 61000) connected, 1 slots' daemon.log
wait_for 60 grep -q 'warprsad does not take this user for its gateway' \
    warprsad.gateway.log
client health NOT_SERVING
client refused UNAVAILABLE
grep -q 'user 61000) loses its control connection: it broke the protocol: it is '\
'not the gateway, and names an identity' daemon.log || fail "$(cat daemon.log)"
[ "$(live "$daemon" gpu)" = "$before" ] || fail "it was served"

# Nor is a subordinate id of the gateway's user believed, though all else that it
# does is that user's.
if ! may_have_subuids; then
    echo "no /etc/subuid or namespaces here: subordinate ids left out"
    exit 0
fi
terminate "$gateway"
terminate "$daemon"
nobody=$(id -u nobody)
start_daemon_with_subuids nobody:62100:10 --group "$group" --gateway-user=nobody
start_gateway_as 62105
wait_for 60 grep -q "user $nobody) connected, 1 slots" daemon.log
client refused UNAVAILABLE
grep -q "user $nobody) loses its control connection: it broke the protocol: it "\
'is not the gateway, and names an identity' daemon.log || fail "$(cat daemon.log)"
[ "$(live "$daemon" gpu)" = 0 ] || fail "a subordinate id is believed"
