# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the benchmarks of daemons and servers share; sourced, with the repository's root as
# the working directory and the build's in `build`. A benchmark has a directory
# of its own, `work`, which goes with it, as its background processes do.
: "${build:?}"
work=$(mktemp -d)
at_end() { # a benchmark with more to clean up defines its own
    :
}
clean_up() {
    trap - EXIT
    # shellcheck disable=SC2046 # a word for each
    kill $(jobs -p) 2>/dev/null || :
    wait 2>/dev/null || :
    at_end
    rm -rf "$work"
}
trap clean_up EXIT

die() {
    echo "${0##*/}: $*" >&2
    tail -n 5 "$work"/*.log >&2 || :
    exit 1
}

wait_until() { # COMMAND...
    local end=$((SECONDS + 60))
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || die "gave up waiting for: $*"
        sleep 0.01
    done
}

plain() {
    OPENSSL_CONF=/dev/null openssl "$@"
}
# shellcheck source=tests/integration/certificates.sh
. tests/integration/certificates.sh

# start NAME PROGRAM OPTION...: a daemon, with NAME.log; its process in
# `started`. Whatever stands in `before` runs it.
before=()
start() {
    local name=$1 program=$2 i
    shift 2
    "${before[@]}" "$build/batching/$program" "$@" >"$work/$name.log" 2>&1 &
    started=$!
    for ((i = 0; i < 1200; i++)); do
        sleep 0.1
        ! grep -q 'ready: [^n]' "$work/$name.log" || return 0
        kill -0 "$started" 2>/dev/null || break
    done
    die "$name does not start"
}

# stop PROCESS...: children of this shell.
stop() {
    local process
    for process; do
        kill "$process" 2>/dev/null && wait "$process" 2>/dev/null || :
    done
}

# start_gateway NAME SOCKET ADDRESS CERTIFICATE: for the daemon at the socket;
# hosts of the file `map` may come.
start_gateway() {
    start "$1" remote/warprsad-gateway --socket="$work/$2" --listen="$3" \
        --tls-certificate="$work/$4.pem" --tls-key="$work/$4.key" \
        --tls-ca="$work/ca.pem" --identities="$work/map"
}

# start_remote NAME HOSTS OPTION...: a daemon that has these hosts, by the
# certificate `web`, at the socket NAME.
start_remote() {
    local name=$1 hosts=$2
    shift 2
    start "$name" remote/warprsad-remote --socket="$work/$name" --engine=host \
        --devices=15 --remote-hosts="$hosts" --tls-ca="$work/ca.pem" \
        --tls-certificate="$work/web.pem" --tls-key="$work/web.key" "$@"
}

# load NAME SOCKET OPTION...: warprsa-load by the daemon there, with NAME.csv.
load() {
    local name=$1 socket=$2
    shift 2
    "$build/bench/load/warprsa-load" --module="$build/provider/warprsa.so" \
        --subject="$name mode=daemon socket=$work/$socket route=gpu slots=16384" \
        --wake=fd --devices=0 --csv="$work/$name.csv" "$@" \
        >"$work/$name.load" 2>&1 || {
        cat "$work/$name.load" >&2
        return 1
    }
}
value() { # NAME COLUMN: of the last row
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        { value = $at[name] } END { print value + 0 }' "$work/$1.csv"
}

# nginx_conf KEY WORKERS: of a server at `port` with the certificate KEY.crt and
# KEY.key, which resumes no session.
nginx_conf() {
    cat <<END
daemon off;
worker_processes $2;
worker_rlimit_nofile 8192;
pid $work/nginx.pid;
error_log $work/nginx.log;
events { worker_connections 4096; }
http {
    access_log off;
    client_body_temp_path $work/body;
    proxy_temp_path $work/proxy;
    fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi;
    scgi_temp_path $work/scgi;
    server {
        listen 127.0.0.1:${port:?} ssl backlog=4096 deferred;
        ssl_certificate $1.crt;
        ssl_certificate_key $1.key;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_session_cache off;
        ssl_session_tickets off;
        location / { return 200 "ok\n"; }
    }
}
END
}

# start_server PROGRAM ARGUMENT...: on the CPUs `server_cpus`, with
# `openssl_conf`; its process in `server`, once it listens at `port`.
start_server() {
    local command=("$@")
    [ "$1" != nginx ] || [ "$(id -u)" -ne 0 ] || command+=(-g "user root;")
    OPENSSL_CONF=${openssl_conf:?} taskset -c "${server_cpus:?}" \
        "${command[@]}" >"$work/server.log" 2>&1 &
    # shellcheck disable=SC2034 # the scripts that source this one use it
    server=$!
    wait_until listening
}
start_nginx() { # by $work/server.conf
    start_server nginx -e "$work/nginx.log" -p "$work" -c "$work/server.conf"
}
listening() {
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null
}
