# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# A GPU host for tests of the network: warprsad, which computes, and
# warprsad-gateway, which other hosts connect to; and warprsad-remote, which
# connects. Sourced after lib.sh, with what tests of servers share.
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/certificates.sh"

REMOTE=$BUILD_DIR/batching/remote/warprsad-remote
GATEWAY=$BUILD_DIR/batching/remote/warprsad-gateway

# tls NAME [AUTHORITY]: sets "tls" to the options of a program with this
# certificate that believes the authority ("ca").
tls() {
    tls=(--tls-certificate="$work/$1.pem" --tls-key="$work/$1.key"
        --tls-ca="$work/${2:-ca}.pem")
}

# start_gateway NAME OPTION...: for the warprsad at NAME.sock. Sets "gateway" and
# "port"; the log is NAME.gateway.log, and has gateway_says then.
gateway_says='ready: warprsad'
start_gateway() {
    local name=$1
    shift
    : >"$name.gateway.log" # an earlier one of this name has written there, too
    ${before_host[@]+"${before_host[@]}"} "$GATEWAY" --socket="$work/$name.sock" \
        --listen=127.0.0.1:0 "$@" >"$name.gateway.log" 2>&1 &
    gateway=$!
    servers+=("$gateway")
    wait_for 120 grep -q "$gateway_says" "$name.gateway.log"
    port=$(sed -n 's/.*listening on .*, port //p' "$name.gateway.log")
}

# start_gpu_host NAME OPTION...: both; options of TLS and of the network are the
# gateway's. Sets "host", which is warprsad, "gateway" and "port". What stands in
# before_host runs each of them.
before_host=()
start_gpu_host() {
    local name=$1 option of_host=() of_gateway=()
    shift
    for option in "$@"; do
        case $option in
        --listen=* | --tls-* | --identities=* | --network-*)
            of_gateway+=("$option")
            ;;
        *) of_host+=("$option") ;;
        esac
    done
    : >"$name.log"
    ${before_host[@]+"${before_host[@]}"} "$BUILD_DIR/batching/daemon/warprsad" \
        --engine=host --socket="$work/$name.sock" \
        ${of_host[@]+"${of_host[@]}"} >"$name.log" 2>&1 &
    host=$!
    servers+=("$host")
    wait_for 120 grep -q ready: "$name.log"
    start_gateway "$name" "${of_gateway[@]}"
}

# start_remote OPTION...: a daemon that computes by other hosts alone. Sets
# "daemon"; what stands in before_remote runs it.
before_remote=()
start_remote() {
    : >daemon.log
    ${before_remote[@]+"${before_remote[@]}"} "$REMOTE" --engine=host \
        --devices=15 --socket="$work/warprsad.sock" "$@" >daemon.log 2>&1 &
    daemon=$!
    servers+=("$daemon")
}

# What clients made of warprsa.proto alone need.
need_grpc() {
    need protoc
    need_python 'grpc, google.protobuf, cryptography' \
        'python3-grpcio, python3-protobuf or python3-cryptography'
    protoc --python_out="$work" -I "$SOURCE_DIR/batching/remote/wire" \
        -I "$SOURCE_DIR/tests/integration" warprsa.proto health.proto
}

# The gateway's process that does all the work.
gateway_serving() {
    pgrep -P "$gateway"
}
