# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests of servers share; each sources this after lib.sh. They run the
# recipes in conf/ as they stand, in the test's own directory, with the daemon.

: "${engine_counter:?lib.sh comes first}"
GENERATOR=$BUILD_DIR/bench/handshakes/handshakes
WITH_DAEMON=(mode=daemon "socket=$work/warprsad.sock")
configure openssl.cnf "$MODULE" "${WITH_DAEMON[@]}" "${PATIENT[@]}"

start_daemon() { # OPTION...
    : >daemon.log # else a daemon before it has written there that it is ready
    "$BUILD_DIR/batching/daemon/${DAEMON:-warprsad}" --engine="$ENGINE" \
        --socket="$work/warprsad.sock" --deadline-ms=600000 "$@" \
        >daemon.log 2>&1 &
    daemon=$!
    servers+=("$daemon")
    wait_for 120 grep -q ready daemon.log
}

# Whether a daemon may have a file of subordinate ids of its own here.
may_have_subuids() {
    [ -e /etc/subuid ] && unshare --mount true 2>/dev/null
}

# start_daemon_with_subuids LINE OPTION...: one to which /etc/subuid has this
# line.
start_daemon_with_subuids() {
    local dir=$work/with_subuids
    mkdir -p "$dir/batching/daemon"
    echo "$1" >"$dir/subuid"
    shift
    cat >"$dir/in_namespace" <<END
#!/bin/sh
mount --bind "$dir/subuid" /etc/subuid &&
    exec "$BUILD_DIR/batching/daemon/warprsad" "\$@"
END
    cat >"$dir/batching/daemon/warprsad" <<END
#!/bin/sh
exec unshare --mount "$dir/in_namespace" "\$@"
END
    chmod +x "$dir/in_namespace" "$dir/batching/daemon/warprsad"
    BUILD_DIR=$dir start_daemon "$@"
}

serving() { # the daemon's process that does all the work
    pgrep -P "$daemon"
}

has_counted() { # NAME VALUE: the daemon
    [ "$(live "$daemon" "$1")" = "$2" ]
}

# A server that has ended: each of its operations ran in the daemon, in batches of
# which the largest had so many operations at least.
#
# A daemon that gets no CPU for 40 ms does not keep a client waiting: the client
# computes itself, and counts it as cpu_no_device. So on a machine with too much
# to do some operations may be the server's own, but no more than half; and the
# daemon may have computed some of these as well.
expect_served() { # OPERATIONS LEAST-LARGEST-BATCH
    local least=$2 own served computed
    own=$(total cpu_no_device)
    served=$(($1 - own))
    [ "$own" = 0 ] || echo "the daemon was late: $own of $1 were not its own"
    [ $((own * 2)) -le "$1" ] || fail "$own of $1 left the daemon"
    expect_totals "$engine_counter=$served" \
        "${engine_counter}_2048=$served" "cpu=$own" checks_failed=0
    wait_for 60 has_counted keys 0
    for computed in "$engine_counter" "${engine_counter}_2048"; do
        computed=$(live "$daemon" "$computed")
        [ "$computed" -ge "$served" ] && [ "$computed" -le "$1" ] ||
            fail "the daemon computed $computed operations, not $served"
    done
    has_counted cpu 0 || fail "the daemon has refused operations"
    has_counted checks_failed 0 || fail "checks failed in the daemon"
    # No batch of this engine is larger.
    [ "$ENGINE" != ifma ] || [ "$least" -le 8 ] || least=8
    [ "$(live "$daemon" batch_max)" -ge "$least" ] ||
        fail "no more than $(live "$daemon" batch_max) operations in a batch"
}

# Operations that a process computed as the daemon was late, or had no room yet.
late() {
    echo "$(($(total cpu_no_device) + $(total cpu_starting)))"
}

# by_daemon COMMAND...: repeats a program until the daemon has computed for it.
by_daemon() {
    local own end=$((SECONDS + 60))
    while [ "$SECONDS" -lt "$end" ]; do
        own=$(late)
        "$@"
        [ "$(late)" != "$own" ] || return 0
    done
    fail "the daemon was late for a minute: $*"
}

# Whether a server that has been started runs its operations in async jobs: the
# module sees none of another libcrypto, and one operation waits for the other.
sees_jobs() {
    ! grep -q 'the caller has another libcrypto' provider.trace
}

as_root() { # what a server's recipe needs
    [ "$(id -u)" -eq 0 ] || skip "only root can start $1 as its recipe says"
}

# key_and_certificate NAME KEY CERTIFICATE: also added to all.pem.
key_and_certificate() {
    rsa_key 2048 "$2"
    plain req -x509 -new -key "$2" -subj "/CN=$1" -addext \
        "subjectAltName=DNS:$1" -days 2 -out "$3"
    cat "$3" >>all.pem
}

# prepare SERVER CONF: all that each needs to run as conf/CONF says.
prepare() {
    need "$1"
    as_root "$1"
    cp "$SOURCE_DIR/conf/$2" .
    key_and_certificate localhost key.pem certificate.pem
    : >provider.trace
    chmod 666 provider.trace
}

# A load of handshakes: each with a request, each certificate verified.
load() { # PORT OPTION...: its output to load.log; false if any failed
    local port=$1
    shift
    "$GENERATOR" --connect="127.0.0.1:$port" --ca=all.pem --request \
        --timeout=300 "$@" >load.log 2>&1 || {
        cat load.log
        return 1
    }
}

loaded() { # NAME: a number of the last load
    grep -o "$1=[0-9]*" load.log | tail -n 1 | cut -d= -f2
}

# load_meanwhile LEAST COMMAND PORT OPTION...: makes a load of handshakes, none
# of which may fail, and runs COMMAND each second of it; false: there was nothing
# to do yet. Repeats the load until COMMAND was true LEAST times under load.
# "completed": all handshakes made.
load_meanwhile() {
    local least=$1 command=$2 times=0 loading
    shift 2
    completed=0
    while [ "$times" -lt "$least" ]; do
        load "$@" &
        loading=$!
        while sleep 1 && kill -0 "$loading" 2>/dev/null; do
            ! $command || times=$((times + 1))
        done
        wait "$loading" || fail "handshakes failed, $times times $command"
        [ "$(loaded completed)" -gt 0 ] || fail "$(cat load.log)"
        completed=$((completed + $(loaded completed)))
    done
}

listening() { # PORT
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# A server in the background is a zombie once it has ended, where process 1
# collects no children of others: in a container that may be meson.
gone() { # PID
    local state
    state=$(awk '$1 == "State:" { print $2 }' "/proc/$1/status" 2>/dev/null) ||
        return 0
    [ "$state" = Z ]
}

# The sum of a counter over the processes of a server that have ended.
total() { # NAME
    awk -v name=" $1=" '/counters: / && (i = index($0, name)) {
        sum += substr($0, i + length(name)) # the digits there
    } END { print sum + 0 }' provider.trace
}

# A counter of a live process.
live() { # PID NAME
    "$BUILD_DIR/batching/warprsa-stat" --json "$1" |
        grep -o "\"$2\": *[0-9]*" | grep -o '[0-9]*$'
}

# The command prefix that gives a server the provider.
with_configuration=(env "OPENSSL_CONF=$work/openssl.cnf"
    "WARPRSA_TRACE=file:$work/provider.trace")

# nginx, by conf/nginx.conf, which ends with the test.
prepare_nginx() {
    at_end() {
        stop_nginx
    }
    prepare nginx nginx.conf
    mkdir sites
    key_and_certificate second.example second.key second.pem
    key_and_certificate one.example sites/one.example.key sites/one.example.pem
    key_and_certificate two.example sites/two.example.key sites/two.example.pem
    chmod -R a+rX .
}

nginx_with_provider() {
    "${with_configuration[@]}" nginx -p "$work" -c "$work/nginx.conf" "$@"
}

nginx_workers() {
    pgrep -P "$(cat nginx.pid)"
}

all_workers_run() {
    local wanted
    wanted=$(sed -n 's/^worker_processes \([0-9]*\);/\1/p' nginx.conf)
    [ "$(nginx_workers | wc -l)" -eq "$wanted" ]
}

start_nginx() {
    nginx_with_provider
    wait_for 60 test -s nginx.pid
    wait_for 60 listening 8443
    wait_for 60 all_workers_run
}

stop_nginx() {
    local pid
    pid=$(cat nginx.pid 2>/dev/null) || return 0
    kill -QUIT "$pid"
    wait_for 120 gone "$pid"
}

nginx_is_content() {
    if grep -E '\[(alert|crit|emerg)\]' error.log; then
        fail "nginx complains"
    fi
}

# haproxy, by conf/haproxy.cfg.
prepare_haproxy() {
    prepare haproxy haproxy.cfg
    mkdir certificates
    key_and_certificate second.example second.key second.pem
    cat certificate.pem key.pem >certificates/localhost.pem
    cat second.pem second.key >certificates/second.example.pem
    chmod a+rx .
}

not_listening() { # PORT
    ! listening "$1"
}

# Workers of a haproxy whose master was killed are there a moment longer, and
# would share the port with this one.
start_haproxy() { # OPTION...
    wait_for 60 not_listening 9443
    "${with_configuration[@]}" haproxy -f haproxy.cfg -C "$work" -db "$@" \
        >haproxy.log 2>&1 &
    haproxy=$!
    servers+=("$haproxy")
    wait_for 60 listening 9443
}

stop_haproxy() {
    # A master that has just been told to reload is deaf for a moment.
    while kill -USR1 "$haproxy" 2>/dev/null; do
        sleep 1
    done &
    wait "$haproxy" || fail "haproxy ended with status $?"
}

# By conf/apache.conf and conf/stunnel.conf.
prepare_threads() { # PROGRAM CONF
    prepare "$@"
    mkdir htdocs
    echo ok >htdocs/index.html
    chmod -R a+rX .
}

# stunnel, by conf/stunnel.conf and conf/stunnel-openssl.cnf, before a web server.
# Sets "user" to whom it becomes.
prepare_stunnel() { # KEY=VALUE...: more of the provider
    prepare_threads stunnel4 stunnel.conf
    user=stunnel4
    getent passwd "$user" >/dev/null || {
        user=stunnel
        sed -i "s/^\(set.id =\) stunnel4/\1 $user/" stunnel.conf
    }
    {
        echo ".include $SOURCE_DIR/conf/stunnel-openssl.cnf"
        printf '%s\n' "[accelerator_section]" "module=$MODULE" \
            "engine=$ENGINE" "${PATIENT[@]}" "$@"
    } >openssl.cnf
    chmod 777 . # stunnel opens its log when it isn't root any more
    # Python's own web server queues five connections and drops the rest.
    python3 - >http.log 2>&1 <<'END' &
import functools, http.server
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
Server(("127.0.0.1", 11080), functools.partial(
    http.server.SimpleHTTPRequestHandler, directory="htdocs")).serve_forever()
END
    servers+=($!)
    wait_for 60 listening 11080
}

start_stunnel() {
    "${with_configuration[@]}" stunnel4 "$work/stunnel.conf" >output.log 2>&1 &
    stunnel=$!
    servers+=("$stunnel")
    wait_for 60 listening 11443
}

stop_stunnel() {
    kill "$stunnel"
    wait "$stunnel" || :
}
