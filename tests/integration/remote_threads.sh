#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Connections of one host are on all network threads of a gateway: each has an
# epoll instance, which watches the sockets of its connections.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/gpu_host.sh"

authority ca
certificate host ca IP:127.0.0.1
certificate web ca DNS:web1.example.org
echo 'dns:web1.example.org' >map
tls host
start_gpu_host warprsad --listen=127.0.0.1:0 "${tls[@]}" \
    --identities="$work/map" --network-threads=4
serves=$(pgrep -P "$gateway")

connect() {
    OPENSSL_CONF=/dev/null "$OPENSSL" s_client -connect "127.0.0.1:$port" \
        -alpn h2 -CAfile ca.pem -cert web.pem -key web.key -ign_eof \
        </dev/null >/dev/null 2>&1 &
    servers+=("$!")
}

# How many connections each thread has, in the order of numbers.
spread() {
    local fd watched count
    for fd in "/proc/$serves/fd"/*; do
        [ "$(readlink "$fd")" = 'anon_inode:[eventpoll]' ] || continue
        count=0
        while read -r watched; do
            ! is_connection "$watched" || count=$((count + 1))
        done < <(sed -n 's/^tfd: *\([0-9]*\) .*/\1/p' \
            "/proc/$serves/fdinfo/${fd##*/}")
        echo "$count"
    done | sort -n | xargs
}

# Whether a descriptor is a socket of an established TCP connection.
is_connection() { # DESCRIPTOR
    local inode
    inode=$(readlink "/proc/$serves/fd/$1" | sed -n 's/socket:\[\(.*\)\]/\1/p')
    [ -n "$inode" ] &&
        awk -v inode="$inode" '$4 == "01" && $10 == inode { found = 1 }
            END { exit !found }' "/proc/$serves/net/tcp"
}

are_spread() { # COUNT...
    [ "$(spread)" = "$*" ]
}

for _ in 1 2 3 4; do
    connect
done
wait_for 60 are_spread 1 1 1 1
for _ in 1 2 3 4; do
    connect
done
wait_for 60 are_spread 2 2 2 2
