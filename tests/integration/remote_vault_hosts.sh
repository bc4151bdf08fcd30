# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# GPU hosts with vaults, and a TLS host that uses their keys; sourced after
# gpu_host.sh and vault.sh. Host N has its keys in keysN and its rules in
# host.conf; the TLS host's are in keys.conf.

authority ca
certificate host ca IP:127.0.0.1
certificate web ca DNS:web1.example.org
echo 'dns:web1.example.org' >map

# vault_host NUMBER [PORT] [OPTION...]: starts one. Its processes are
# process[NUMBER], the gateway, and computes[NUMBER] then, its port
# ports[NUMBER].
process=()
computes=()
ports=()
vault_host() {
    local number=$1 port_wanted=${2:-0}
    shift
    [ $# = 0 ] || shift
    tls host
    start_gpu_host "host$number" --listen="127.0.0.1:$port_wanted" "${tls[@]}" \
        --identities="$work/map" --deadline-ms=60000 \
        --keys-directory="$work/keys$number" --keys-rules="$work/host.conf" "$@"
    process[number]=$gateway
    computes[number]=$host
    ports[number]=$port
}

stop_vault_host() { # NUMBER
    terminate "${process[$1]}"
    terminate "${computes[$1]}"
}

kill_vault_host() { # NUMBER: its serving processes end with it
    kill -KILL "${process[$1]}" "${computes[$1]}"
    wait "${process[$1]}" "${computes[$1]}" 2>/dev/null || :
}

# use_hosts NUMBER...: the TLS host's daemon, which has no device of its own.
use_hosts() {
    local number hosts=()
    for number in "$@"; do
        hosts+=("127.0.0.1:${ports[$number]}")
    done
    tls web
    start_remote "${tls[@]}" --remote-hosts="${hosts[*]}" \
        --keys-rules="$work/keys.conf" --deadline-ms="${deadline_ms:-10000}"
    wait_for 60 grep -q 'keys and rules have been read' daemon.log
}

# The line of keys.conf for the key of NAME.pub.
remote_line() { # NAME
    echo "$1 remote spki=$(plain pkey -pubin -in "$1.pub" -outform DER |
        base64 -w 0)"
}

# Signatures one after the other, by several processes, each verified, until
# end_signing, which fails if one of them failed.
start_signing() {
    local i
    rm -f enough signed.* failed.*
    signing=()
    for i in 1 2 3; do
        (
            trap - EXIT
            cp message "message.$i"
            until [ -e enough ]; do
                with_provider dgst -sha256 -sign www.ref -out "sig.$i" \
                    "message.$i" 2>>"failed.$i" &&
                    plain dgst -sha256 -verify www.pub -signature "sig.$i" \
                        "message.$i" >>"signed.$i" 2>>"failed.$i" ||
                    echo failed >>"failed.$i"
            done
        ) &
        signing+=("$!")
        servers+=("$!")
    done
}

signed() {
    { cat signed.* 2>/dev/null || :; } | wc -l
}

has_signed() { # COUNT: more than so far
    local before
    before=$(signed)
    more_signed() {
        [ "$(signed)" -ge $((before + $1)) ]
    }
    wait_for 120 more_signed "$1"
}

end_signing() {
    : >enough
    wait "${signing[@]}" || :
    ! grep -q . failed.* || fail "$(cat failed.* | head -n 20)"
}
