#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Other hosts as devices: two of them compute for a third one's clients. One is
# killed and drained under load, and the other one takes what it had; one is
# stopped by SIGSTOP; hosts come and go by a reload; the log's disk is full: no
# operation fails. Hosts with a wrong certificate are not used; one that answers
# wrongly is caught; one that never answers holds up nobody.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/remote_load.sh"

authority ca
authority other
certificate host ca IP:127.0.0.1
certificate web ca DNS:web1.example.org
certificate name ca DNS:other.example.org
certificate foreign other IP:127.0.0.1
echo 'dns:web1.example.org' >map

# host NUMBER [PORT [CERTIFICATE]]: starts a host that computes. Its processes
# are process[NUMBER], the gateway, and computes[NUMBER] then, its port
# ports[NUMBER].
process=()
computes=()
ports=()
host() {
    tls "${3:-host}"
    start_gpu_host "host$1" --listen="127.0.0.1:${2:-0}" "${tls[@]}" \
        --identities="$work/map" --deadline-ms=60000
    process[$1]=$gateway
    computes[$1]=$host
    ports[$1]=$port
}
stop_host() { # NUMBER
    terminate "${process[$1]}"
    terminate "${computes[$1]}"
}

# use OPTION...: the daemon that uses other hosts, with no device of its own.
use() {
    tls web
    start_remote "${tls[@]}" "$@"
}

logged() { # TEXT
    wait_for 60 grep -qF -- "$1" daemon.log
}

# mistakes
tls web
for hosts in 127.0.0.1 ':7443' '127.0.0.1:7443 b:99999' '::1:7443' 'a:1 a:1'; do
    ! timeout 60 "$REMOTE" --engine=host --socket="$work/r" "${tls[@]}" \
        --remote-hosts="$hosts" >refused.log 2>&1 ||
        fail "$hosts is taken"
    grep -q 'remote_hosts: .*: expected HOST:PORT' refused.log ||
        fail "$(cat refused.log)"
done

# Nobody there yet: the daemon goes on, and clients compute.
rsa_key 2048 key.pem
host 1
stop_host 1
configure openssl.cnf "$MODULE" "${WITH_DAEMON[@]}" \
    route=gpu startup_ms=2000 deadline_ms=60000
use --remote-hosts="127.0.0.1:${ports[1]}" --deadline-ms=60000
logged 'no host answers'
sign_and_verify key.pem
[ "$(total gpu)" = 0 ] || fail "who has computed that?"
host 1 "${ports[1]}"
logged 'in use, 127.0.0.1'
: >provider.trace
for _ in 1 2 3; do
    by_daemon sign_and_verify key.pem
done
[ "$(total gpu)" = 3 ] || fail "$(tail -n 1 provider.trace)"
# Every size, and the keys of a host go with the session.
for bits in 1024 3072 4096; do
    rsa_key "$bits" "$bits.pem"
    by_daemon sign_and_verify "$bits.pem"
done
[ "$(total cpu)" = "$(late)" ] || fail "$(tail -n 1 provider.trace)"
[ "$(live "$daemon" checks_failed)" = 0 ] || fail "a check failed"
terminate "$daemon"
wait_for 60 grep -q 'session has ended' host1.gateway.log

# Two hosts under load.
host 2
use --remote-hosts="127.0.0.1:${ports[1]} 127.0.0.1:${ports[2]}" \
    --verify-remote=yes --deadline-ms=60000
wait_for 60 has_counted devices 2
logged "in use, 127.0.0.1:${ports[1]}"
logged "in use, 127.0.0.1:${ports[2]}"
: >provider.trace
start_load -seconds 5 -multi 2 -async_jobs 24
grows() { # DEVICE: it computes now
    local before
    before=$(live "$daemon" "device$1_gpu")
    sleep 0.1
    [ "$(live "$daemon" "device$1_gpu")" -gt "$before" ]
}
wait_for 60 grows 1
wait_for 60 grows 2
kill -STOP "$(pgrep -P "${process[2]}")"
has_some() {
    [ "$(live "$daemon" device2_running)" -ge 1 ]
}
wait_for 60 has_some
kill -KILL "${process[2]}" # its serving process ends with it
wait "${process[2]}" 2>/dev/null || :
terminate "${computes[2]}"
logged 'device 2: out of use'
wait_for 60 grows 1
host 2 "${ports[2]}"
wait_for 60 grows 2
stop_host 2 # drains
wait_for 60 grows 1
host 2 "${ports[2]}"
wait_for 90 grows 2
# What the host had, the other one has done, and no client; unless a machine
# with too much to do has made that one late for 5 s.
if [ "$(live "$daemon" device1_losses)" = 0 ]; then
    [ "$(live "$daemon" device2_failovers)" -ge 1 ] || fail "no failover"
    for reason in error no_device check_failed; do
        [ "$(live "$daemon" "cpu_$reason")" = 0 ] || fail "cpu_$reason"
    done
fi
[ "$(live "$daemon" device2_losses)" -ge 2 ] || fail "losses"
"$BUILD_DIR/batching/warprsa-stat" "$daemon" | tee stat.log
for device in 1 2; do
    grep -Eq "^  device $device, 127.0.0.1:${ports[$device]} \(remote $((device - 1))\): ready, [0-9]+ operations/s, p50 [0-9.]+ ms, p99 [0-9.]+ ms, [0-9]+ in flight, [1-9][0-9]+ bytes sent, [1-9][0-9]+ received, [0-9]+ waits for credit, [0-9]+ operations went elsewhere$" stat.log || fail "device $device"
done
stopped=$(pgrep -P "${process[2]}")
kill -STOP "$stopped" "${process[2]}"
logged 'not heard of for 5 s'
wait_for 60 grows 1
kill -CONT "$stopped" "${process[2]}"
end_load
terminate "$daemon"

# Hosts added and removed by a reload, under load.
echo "remote_hosts = 127.0.0.1:${ports[1]}" >hosts.conf
use --config="$work/hosts.conf" --verbose=1 --deadline-ms=60000
wait_for 60 has_counted devices 1
: >provider.trace
start_load -seconds 5 -multi 2 -async_jobs 24
wait_for 60 grows 1
echo "remote_hosts = 127.0.0.1:${ports[1]} 127.0.0.1:${ports[2]}" >hosts.conf
kill -HUP "$daemon"
wait_for 60 grows 2
echo "remote_hosts = 127.0.0.1:${ports[2]}" >hosts.conf
kill -HUP "$daemon"
logged 'device 1: out of use, removed from remote_hosts'
logged 'device 1: not opened, no device: removed from remote_hosts'
wait_for 60 grows 2
[ "$(live "$daemon" device1_ready)" = 0 ] || fail "a removed host is ready"
[ "$(live "$daemon" device1_keys)" = 0 ] || fail "a removed host has keys"
echo 'remote_hosts = 127.0.0.1' >hosts.conf
kill -HUP "$daemon"
logged 'remote_hosts: 127.0.0.1: expected HOST:PORT'
wait_for 60 grows 2
echo "remote_hosts = 127.0.0.1:${ports[2]} 127.0.0.1:${ports[1]}" >hosts.conf
kill -HUP "$daemon"
wait_for 60 grows 1
end_load
if ! grep -q 'not heard of' daemon.log; then # the machine has been quick enough
    for reason in error no_device check_failed; do
        [ "$(live "$daemon" "cpu_$reason")" = 0 ] || fail "cpu_$reason"
    done
fi
terminate "$daemon"

# A log on a disk that is full holds up nothing.
tls web
"$REMOTE" --devices=15 --engine=host --socket="$work/warprsad.sock" \
    "${tls[@]}" --remote-hosts="127.0.0.1:${ports[1]}" --verbose=2 \
    >/dev/full 2>&1 &
daemon=$!
servers+=("$daemon")
wait_for 60 has_counted devices 1
: >provider.trace
by_daemon sign_and_verify key.pem
[ "$(total gpu)" = 1 ] || fail "$(tail -n 1 provider.trace)"
terminate "$daemon"

# Certificates that are good for nothing here, and the line that says why.
for wrong in 'name hostname mismatch' 'foreign unable to get local issuer'; do
    certificate=${wrong%% *}
    host 3 0 "$certificate"
    use --remote-hosts="127.0.0.1:${ports[3]}"
    text=${wrong#* }
    [ "$certificate" != name ] || text='IP address mismatch'
    logged "certificate of /CN=$certificate refused: $text"
    terminate "$daemon"
    stop_host 3
done

# Hosts that are not ours.
python=/usr/bin/python3
command -v protoc >/dev/null &&
    "$python" -c 'import grpc, google.protobuf' 2>/dev/null || {
    echo "no protoc or python3-grpcio: hosts that are not ours left out"
    exit 0
}
protoc --python_out="$work" -I "$SOURCE_DIR/batching/remote/wire" \
    warprsa.proto
other_host() { # HOW: sets "port"
    "$python" "$SOURCE_DIR/tests/integration/remote_server.py" "$work" ca.pem \
        host.pem host.key "$1" >"$1.port" 2>"$1.log" &
    servers+=("$!")
    wait_for 60 test -s "$1.port"
    port=$(cat "$1.port")
}
other_host right
use --remote-hosts="127.0.0.1:$port" --verify-remote=yes \
    --deadline-ms=60000
logged 'in use, 127.0.0.1'
: >provider.trace
by_daemon sign_and_verify key.pem
[ "$(total gpu)" = 1 ] || fail "$(tail -n 1 provider.trace)"
terminate "$daemon"
other_host wrong
# By default nothing that it says is believed.
use --remote-hosts="127.0.0.1:$port" --deadline-ms=60000
logged 'in use, 127.0.0.1'
: >provider.trace
by_daemon sign_and_verify key.pem
[ "$(total cpu_check_failed)" = 1 ] || fail "$(tail -n 1 provider.trace)"
[ "$(live "$daemon" checks_failed)" -ge 1 ] || fail "nobody noticed"
# Some more of them, and the host is out of use. The key is right.
is_out() {
    sign_and_verify key.pem
    [ "$(live "$daemon" device1_wrong)" -ge 1 ]
}
wait_for 60 is_out
logged 'out of use, wrong results of RSA-2048'
[ "$(live "$daemon" keys_wrong)" = 0 ] || fail "the key is not wrong"
terminate "$daemon"
other_host never
use --remote-hosts="127.0.0.1:$port" --deadline-ms=500
logged 'in use, 127.0.0.1'
: >provider.trace
by_daemon sign_and_verify key.pem
[ "$(total cpu_deadline)" = 1 ] || fail "$(tail -n 1 provider.trace)"
logged 'a batch missed its deadline'
terminate "$daemon"
