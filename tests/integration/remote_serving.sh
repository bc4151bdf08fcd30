#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# warprsad-gateway as others use it: a client made of warprsa.proto and
# python3-grpcio alone loads keys, signs, gets errors and is throttled; wrong
# certificates are refused with a line that says which; reload, drain.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/gpu_host.sh"

need prlimit
need_grpc
for bits in 1024 2048 3072 4096 4608; do
    rsa_key "$bits" "$bits.pem"
done
authority ca
authority other
certificate server ca DNS:gpu.example.org
certificate web1 ca DNS:web1.example.org
certificate web2 ca URI:spiffe://example.org/web2
certificate old ca DNS:web1.example.org 0
certificate stranger ca DNS:web3.example.org
certificate foreign other DNS:web1.example.org
cat >map <<'END'
# who may come
dns:web1.example.org sessions=4 keys=64

uri:spiffe://example.org/web2 sessions=1 operations=8 rate=50
END

client() { # NAME WHAT [ARGUMENT...]: with the certificate of this name
    local name=$1
    shift
    timeout 120 "$python" "$SOURCE_DIR/tests/integration/remote_client.py" \
        "127.0.0.1:$port" "$work" ca.pem "$name.pem" "$name.key" "$@"
}

logged() { # TEXT
    wait_for 30 grep -qF -- "$1" warprsad.gateway.log
}

tls server
all=("${tls[@]}" --identities="$work/map")

# Mistakes of the administrator's.
refused() { # WANTED-TEXT OPTION...
    local wanted=$1
    shift
    ! timeout 60 "$GATEWAY" --socket="$work/r" "$@" >refused.log 2>&1 ||
        fail "$*: it started"
    grep -qF -- "$wanted" refused.log || fail "$*: $(cat refused.log)"
}
refused 'tls_certificate is not set: expected' --listen=127.0.0.1:0
refused 'listen = 7443: expected ADDRESS:PORT' "${all[@]}" --listen=7443
refused 'none.pem' "${all[@]}" --tls-ca="$work/none.pem"
refused 'web1.key: key values mismatch' "${all[@]}" --tls-key="$work/web1.key"
printf 'dns:a\n\nweb1 keys=1\n' >bad
refused 'bad:3: expected an identity' "${all[@]}" --identities="$work/bad"
printf 'dns:a keys=0\n' >bad
refused 'bad:1: expected sessions=0..64' "${all[@]}" --identities="$work/bad"
# The daemon without a network has none of its options.
! "$BUILD_DIR/batching/daemon/warprsad" --engine=host --listen=127.0.0.1:0 \
    >refused.log 2>&1 || fail "warprsad listens"

# The sample. warprsad comes later than its gateway.
sed "s|0.0.0.0:7443|127.0.0.1:0|; s|/etc/warprsa/host|$work/server|
    s|/etc/warprsa/clients-ca|$work/ca|; s|/etc/warprsa/identities|$work/map|
    s|^#socket = .*|socket = $work/warprsad.sock|" \
    "$SOURCE_DIR/conf/warprsad-gateway.conf" >sample.conf
"$GATEWAY" --config="$work/sample.conf" >sample.log 2>&1 &
gateway=$!
servers+=("$gateway")
wait_for 60 grep 'listening on 127.0.0.1' sample.log
port=$(sed -n 's/.*listening on 127.0.0.1, port //p' sample.log)
client web1 refused UNAVAILABLE
grep -qF "cannot use $work/warprsad.sock: " sample.log ||
    fail "it does not say why: $(cat sample.log)"
start_daemon
wait_for 60 grep 'ready: warprsad' sample.log
client web1 health
terminate "$gateway"

start_gateway warprsad "${all[@]}"
client web1 health
client web1 configuration SERVING
for bits in 1024 2048 3072 4096; do
    client web1 sign "$bits.pem" 20
done
client web1 sign 4608.pem 2
client web1 sign 1024.pem 600
client web1 errors 2048.pem
client web2 throttled 2048.pem
signed=$(live "$daemon" gpu)
[ "$signed" -ge 685 ] || fail "only $signed operations were counted"
[ "$(live "$daemon" cpu)" = 0 ] || fail "the CPU computed some"
[ "$(live "$daemon" checks_failed)" = 0 ] || fail "a check failed"
# All sessions have ended, and all their keys are gone.
wait_for 60 has_counted keys 0

# Who is not let in, and the line that says why.
client old refused UNAVAILABLE
logged 'certificate of /CN=old refused: certificate has expired'
client foreign refused UNAVAILABLE
logged 'certificate of /CN=foreign refused: unable to get local issuer'
client stranger refused PERMISSION_DENIED
logged 'in the map: dns:web3.example.org'
printf '' >none.pem
timeout 60 "$python" "$SOURCE_DIR/tests/integration/remote_client.py" \
    "127.0.0.1:$port" "$work" ca.pem '' '' refused UNAVAILABLE
logged 'peer did not return a certificate'
# TLS 1.2, then something that is not TLS at all.
! plain s_client -connect "127.0.0.1:$port" -tls1_2 -cert web1.pem \
    -key web1.key </dev/null >tls12.log 2>&1 || fail "TLS 1.2 is let in"
logged 'unsupported protocol'
printf 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' |
    timeout 60 bash -c "cat >/dev/tcp/127.0.0.1/$port"
# HTTP that is not gRPC, and more frames than there ought to be.
client web1 sign 1024.pem 1

# Reload: a new certificate of the server's, an identity removed while it
# works, a map with a mistake.
client web1 stay 1024.pem PERMISSION_DENIED >stay.log 2>&1 &
staying=$!
servers+=("$staying")
wait_for 60 grep -q staying stay.log
printf 'dns:web1.example.org keys=many\n' >map
kill -HUP "$gateway"
logged 'map:1: expected sessions=0..64'
client web1 configuration NOT_SERVING
client web1 sign 1024.pem 1
# Who was taken out is out, whatever is wrong with the other line.
client web2 refused PERMISSION_DENIED
printf 'uri:spiffe://example.org/web2\n' >map
kill -HUP "$gateway"
wait "$staying" || fail "$(cat stay.log)"
logged 'connection ended: the identity was removed from the map'
grep '^ended after [1-9]' stay.log
client web1 refused PERMISSION_DENIED
client web2 configuration SERVING
cp other.pem ca.pem.new
cat ca.pem >>ca.pem.new
certificate server other DNS:gpu.example.org
printf 'dns:web1.example.org\n' >map
kill -HUP "$gateway"
client web1 refused UNAVAILABLE # the server's is not from ca
cp ca.pem own.pem
mv ca.pem.new ca.pem
client web1 sign 1024.pem 1

# An identity is removed while its call waits for the last answers: warprsad is
# stopped. The end of the call frees it at once.
working=$(gateway_serving)
mkfifo go
client web1 leave 1024.pem PERMISSION_DENIED <go >leave.log 2>&1 &
leaving=$!
servers+=("$leaving")
exec 4>go
wait_for 60 grep -q loaded leave.log
computing=$(serving)
kill -STOP "$computing"
# With one thread stopped, none of the others runs any more.
wait_for 60 grep -q '^State:.*T' "/proc/$computing/status"
echo >&4
wait_for 60 grep -q leaving leave.log
sleep 1 # for what it has sent to arrive
printf 'uri:spiffe://example.org/web2\n' >map
kill -HUP "$gateway"
left=0
wait "$leaving" || left=$?
kill -CONT "$computing"
[ "$left" = 0 ] || fail "$(cat leave.log)"
exec 4>&-
printf 'dns:web1.example.org\n' >map
kill -HUP "$gateway"
wait_for 60 client web1 sign 1024.pem 1
[ "$(gateway_serving)" = "$working" ] || fail "the gateway has crashed"

# Without descriptors connections wait, what is there goes on, and the log says
# why.
free_descriptor() { # PID: the lowest number that is free
    local fd=0
    while [ -e "/proc/$1/fd/$fd" ]; do
        fd=$((fd + 1))
    done
    echo "$fd"
}
soft=$(prlimit --pid "$working" --nofile --noheadings --output SOFT)
prlimit --pid "$working" --nofile="$(free_descriptor "$working"):"
client web1 sign 1024.pem 1 >waits.log 2>&1 &
waiting=$!
servers+=("$waiting")
logged 'connections wait to be accepted: Too many open files'
prlimit --pid "$working" --nofile="$soft:"
wait "$waiting" || fail "$(cat waits.log)"

# Stop: whoever is there is told, and every operation is answered.
client web1 stay 1024.pem UNAVAILABLE >stop.log 2>&1 &
staying=$!
servers+=("$staying")
wait_for 60 grep -q staying stop.log
kill -TERM "$gateway"
wait "$staying" || fail "$(cat stop.log)"
grep '^ended after [1-9].*the server stops' stop.log
wait "$gateway" || fail "SIGTERM: status $?"

# warprsad goes and comes: calls end, and new ones are served.
start_gateway warprsad "${all[@]}"
client web1 sign 1024.pem 1
client web1 stay 1024.pem UNAVAILABLE gone >gone.log 2>&1 &
staying=$!
servers+=("$staying")
wait_for 60 grep -q staying gone.log
kill -KILL "$(serving)"
wait "$staying" || fail "$(cat gone.log)"
grep '^ended after [1-9].*warprsad has' gone.log
wait_for 60 client web1 sign 1024.pem 1
