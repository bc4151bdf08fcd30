# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the integration tests share; sourced by each. They need BUILD_DIR, a
# build directory of this project, and read
#   OPENSSL              the openssl program (openssl)
#   WARPRSA_TEST_ENGINE  host (unless set), ifma or cuda
#   WARPRSA_TEST_KEYS    vault: keys are the daemon's (by_reference.sh)
# A test makes its keys and files in a directory of its own, which is removed
# when the test ends. It runs an operation through the provider and checks the
# result with a process that doesn't load the provider. The counters, the last
# line of the trace, show where the operation was computed. Exit status 77:
# skipped.
set -euo pipefail

: "${BUILD_DIR:?the build directory is wanted}"
BUILD_DIR=$(cd "$BUILD_DIR" && pwd)
SOURCE_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
OPENSSL=${OPENSSL:-openssl}
ENGINE=${WARPRSA_TEST_ENGINE:-host}
MODULE=$BUILD_DIR/provider/warprsa.so
FAULTY_MODULE=$BUILD_DIR/provider/warprsa_faulty.so
# Ignore the machine's configuration; no provider unless a test asks for it.
export OPENSSL_CONF=/dev/null
unset OPENSSL_MODULES WARPRSA_TRACE WARPRSA_FAULT

work=$(mktemp -d "${TMPDIR:-/tmp}/warprsa.XXXXXX")
cd "$work"
servers=()
at_end() { # a test with more to clean up defines its own
    :
}
clean_up() {
    local status=$? pid
    trap - EXIT
    at_end
    for pid in "${servers[@]}"; do
        kill "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
    if [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then
        tail -n 20 ./*.trace ./*.log 2>/dev/null || :
    fi
    rm -rf "$work"
    exit "$status"
}
trap clean_up EXIT

skip() {
    echo "SKIP: $*"
    exit 77
}

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

need() { # PROGRAM...
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || PATH=$PATH:/usr/sbin:/sbin
        command -v "$program" >/dev/null || skip "no $program here"
    done
}

# need_python MODULES PACKAGES: sets "python" to Debian's, whose packages are
# needed.
need_python() {
    python=/usr/bin/python3
    "$python" -c "import $1" 2>/dev/null || skip "no $2 here"
}

terminate() { # PROCESS: of this shell
    kill -TERM "$1"
    wait "$1" || fail "SIGTERM: status $?"
}

if [ "$ENGINE" = cuda ] && [ ! -e /dev/nvidiactl ]; then
    skip "no GPU on this machine"
fi
if [ "$ENGINE" = ifma ] && ! grep -q -m 1 avx512ifma /proc/cpuinfo; then
    skip "no AVX-512 IFMA on this machine"
fi
# Under which name the counters have what the engine computed.
engine_counter=gpu
[ "$ENGINE" != ifma ] || engine_counter=ifma

# configure FILE MODULE KEY=VALUE...: writes conf/openssl.cnf as it stands, but
# for the module and these values. Of two values for a key the last one counts.
configure() {
    local file=$1 module=$2
    shift 2
    {
        cat "$SOURCE_DIR/conf/openssl.cnf"
        sed -n 's/^warprsa *= *\(.*\)/[\1]/p' "$SOURCE_DIR/conf/openssl.cnf"
        printf '%s\n' "module=$module" "$@"
    } >"$file"
}

# Long times, so that no operation leaves the engine even if the CPU is busy.
PATIENT=(route=gpu startup_ms=60000 deadline_ms=600000)
# The configuration of most tests: everything goes to the engine.
configure openssl.cnf "$MODULE" engine="$ENGINE" "${PATIENT[@]}"

# Sets "arguments" to those of a program that has the provider.
use_keys() { # ARGUMENT...
    arguments=("$@")
}

# The openssl program with the provider; its trace is added to "trace".
with_provider() {
    use_keys "$@"
    OPENSSL_CONF=${CONF:-$work/openssl.cnf} \
        WARPRSA_TRACE=file:${TRACE:-$work/provider.trace} \
        "$OPENSSL" "${arguments[@]}"
}

# serve CNF TRACE S_SERVER-OPTION...: starts a server in the background. Sets
# "server" to its process and "port" to its port, which the kernel chose.
serve() {
    local cnf=$1 trace=$2
    shift 2
    : >server.log # an earlier server may have written ACCEPT there
    arguments=(-cert certificate.pem -key key.pem -www "$@")
    [ "$cnf" = /dev/null ] || use_keys "${arguments[@]}"
    OPENSSL_CONF=$cnf WARPRSA_TRACE=file:$trace "$OPENSSL" s_server \
        -accept 127.0.0.1:0 "${arguments[@]}" \
        >server.log 2>&1 </dev/null &
    server=$!
    servers+=("$server")
    wait_for 60 grep -q '^ACCEPT .*:' server.log
    port=$(sed -n '/^ACCEPT .*:/{s///p;q}' server.log)
}

serve_with_provider() { # S_SERVER-OPTION...
    serve "${CONF:-$work/openssl.cnf}" "${TRACE:-$work/provider.trace}" "$@"
}

# The openssl program without the provider.
plain() {
    "$OPENSSL" "$@"
}

# The size class of a key of BITS bits whose primes have half that length.
class_of() { # BITS
    local prime=$((($1 + 1) / 2))
    if [ $prime -le 515 ]; then
        echo 1024
    elif [ $prime -le 1035 ]; then
        echo 2048
    elif [ $prime -le 1555 ]; then
        echo 3072
    else
        echo 4096
    fi
}

# expect_counters TRACE NAME=VALUE...: checks counters of the last process that
# wrote to TRACE.
expect_counters() {
    local trace=$1 line wanted
    shift
    line=$(grep -o 'counters: .*' "$trace" | tail -n 1) ||
        fail "no counters in $trace: was the provider loaded at all?"
    for wanted in "$@"; do
        case " $line " in
        *" $wanted "*) ;;
        *) fail "wanted $wanted in: $line" ;;
        esac
    done
}

# Checks that so many operations of a key of BITS bits ran, all on the engine.
expect_engine() { # BITS COUNT [TRACE]
    expect_counters "${3:-provider.trace}" \
        "$engine_counter=$2" "${engine_counter}_$(class_of "$1")=$2" cpu=0 \
        checks_failed=0
}

# wait_for SECONDS COMMAND...: repeats COMMAND until it succeeds.
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@" 2>/dev/null; do
        [ "$SECONDS" -lt "$end" ] || fail "gave up waiting for: $*"
        sleep 0.1
    done
}

rsa_key() { # BITS FILE
    plain genpkey -algorithm RSA -pkeyopt "rsa_keygen_bits:$1" \
        -out "$2" 2>/dev/null
    plain pkey -in "$2" -pubout -out "$2.pub"
}

damage() { # FILE: an byte in it is another one then
    local byte
    byte=$(od -An -t u1 -j 200 -N 1 "$1")
    # shellcheck disable=SC2059
    printf "\\$(printf '%03o' $((byte ^ 1)))" |
        dd of="$1" bs=1 seek=200 conv=notrunc status=none
}

# Signs through the provider and verifies by a process without it.
sign_and_verify() { # KEY, with its public half in KEY.pub
    echo "to be signed" >message
    with_provider dgst -sha256 -sign "$1" -out sig message
    plain dgst -sha256 -verify "$1.pub" -signature sig message
}

# From here on the module is the one into which WARPRSA_FAULT injects faults.
use_faulty_module() { # KEY=VALUE...
    [ -e "$FAULTY_MODULE" ] || skip "no $FAULTY_MODULE"
    configure faulty.cnf "$FAULTY_MODULE" engine="$ENGINE" "${PATIENT[@]}" "$@"
    export CONF=$work/faulty.cnf
}

self_signed() { # KEY CERTIFICATE: signed without the provider
    plain req -x509 -new -key "$1" -subj /CN=localhost -days 2 -out "$2"
}

# There at once for s_client: printf writes a line at a time, and a server that
# answers the first one may be gone before the second.
http_get=$'GET / HTTP/1.0\r\n\r'

# serve_and_connect S_SERVER-OPTION...: a server with the provider, key.pem and
# certificate.pem takes one connection; the client doesn't load the provider.
# The server ends when it has answered, and the client's last write may then meet
# a SIGPIPE. What counts is what it has seen.
serve_and_connect() {
    serve_with_provider -naccept 1 "$@"
    plain s_client -connect "127.0.0.1:$port" -CAfile certificate.pem \
        -verify_return_error -ign_eof <<<"$http_get" >client.log 2>&1 ||
        [ $? -eq 141 ]
    wait "$server" || :
    grep -q 'Verify return code: 0' client.log
    grep -q 'HTTP/1.0 200' client.log
}

# Makes one handshake with a server on this port, without the provider.
answers() { # PORT S_CLIENT-OPTION...
    local port=$1 log=client.$BASHPID.log
    shift
    timeout 60 "$OPENSSL" s_client -connect "127.0.0.1:$port" \
        -CAfile certificate.pem -verify_return_error -ign_eof "$@" \
        <<<"$http_get" >"$log" 2>&1 &&
        grep -q 'Verify return code: 0' "$log"
}

handshakes() { # PORT COUNT S_CLIENT-OPTION...
    local port=$1 count=$2 i
    shift 2
    for ((i = 0; i < count; i++)); do
        answers "$port" "$@" || fail "handshake $i with port $port: $*"
    done
}

# expect_totals NAME=VALUE...: checks sums over the processes of a server.
expect_totals() {
    local wanted name sum
    for wanted in "$@"; do
        name=${wanted%%=*}
        sum=$(grep -o 'counters: .*' provider.trace |
            grep -o " $name=[0-9]*" | awk -F= '{ s += $2 } END { print s + 0 }')
        [ "$sum" = "${wanted#*=}" ] || {
            grep -o 'counters: .*' provider.trace
            fail "wanted $wanted in all, it is $sum"
        }
    done
}

# shellcheck source=tests/integration/by_reference.sh
[ "${WARPRSA_TEST_KEYS:-}" != vault ] ||
    . "$SOURCE_DIR/tests/integration/by_reference.sh"
