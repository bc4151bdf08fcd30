# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# A GPU host for tests of the network: warprsad, which computes, and
# warprsad-gateway, which other hosts connect to. Sourced after servers.sh.

GATEWAY=$BUILD_DIR/batching/remote/warprsad-gateway

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

# The gateway's process that does all the work.
gateway_serving() {
    pgrep -P "$gateway"
}
