#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A network between a TLS host and a GPU host that is slow, narrow, lossy, cut,
# or silent (relay.py), under load: no operation fails or is wrong, the host is
# used again each time, and both sides notice that the other one is silent: the
# TLS host after 5 s, the GPU host after 20 s.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/remote_load.sh"

need python3
authority ca
certificate host ca IP:127.0.0.1
certificate web ca DNS:web1.example.org
echo 'dns:web1.example.org' >map
tls host
start_gpu_host host "${tls[@]}" --identities="$work/map" --deadline-ms=60000

mkfifo commands
python3 "$SOURCE_DIR/tests/integration/relay.py" "$port" <commands \
    >relay.port 2>relay.log &
servers+=("$!")
exec {commands}>commands
wait_for 60 test -s relay.port
relay() {
    echo "$*" >&"$commands"
}
tls web
start_remote "${tls[@]}" --remote-hosts="127.0.0.1:$(cat relay.port)" \
    --verify-remote=yes --deadline-ms=60000
in_use() { # TIMES: so often it came into use
    [ "$(grep -c 'in use, 127.0.0.1' daemon.log)" -ge "$1" ]
}
wait_for 60 in_use 1

start_load -seconds 2 -async_jobs 16
computes
relay hold
wait_for 60 grep -q 'not heard of for 5 s' daemon.log
wait_for 60 in_use 2
computes
for way in 'delay 2' 'delay 50' 'rate 20000'; do
    relay "$way"
    computes
done
relay rate 0
relay delay 2
relay loss 3
computes
packets_lost() { # at least ten
    local number
    relay lost
    number=$(sed -n 's/^lost //p' relay.port | tail -n 1)
    [ "${number:-0}" -ge 10 ]
}
wait_for 60 packets_lost
computes
relay loss 0
relay delay 0
for times in 3 4; do
    relay cut
    wait_for 60 in_use "$times"
    computes
done
wait_for 60 grep -q 'not heard of for 20 s' host.gateway.log
computes
end_load
[ "$(live "$host" checks_failed)" = 0 ] || fail "a check failed"
# Keys of sessions that have ended are gone: those of one are left.
terminate "$daemon"
host_has_no_keys() {
    [ "$(live "$host" keys)" = 0 ]
}
wait_for 60 host_has_no_keys
for process in "$gateway" "$host"; do
    terminate "$process"
done
