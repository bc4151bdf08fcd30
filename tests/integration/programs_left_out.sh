#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program that the lists or the environment leave out has the default provider:
# no counters, no thread, no descriptor, no connection to the daemon.
. "$(dirname "$0")/lib.sh"

need python3
path=$(readlink -f "$(command -v "$OPENSSL")")
rsa_key 2048 key.pem
self_signed key.pem certificate.pem

left_out() { # BY KEY=VALUE...
    local by=$1
    shift
    configure left.cnf "$MODULE" engine="$ENGINE" "${PATIENT[@]}" "$@"
    CONF=left.cnf TRACE=$by.trace sign_and_verify key.pem
    grep -q "left out, by $by" "$by.trace" || fail "$*: it is not left out"
    ! grep -q 'counters:' "$by.trace" || fail "$*: it counts"
    OPENSSL_CONF=left.cnf "$OPENSSL" list -providers >providers
    grep -qx '  warprsa' providers || fail "$*: it is not even loaded"
    rm "$by.trace"
}
taken() { # KEY=VALUE...
    configure taken.cnf "$MODULE" engine="$ENGINE" "${PATIENT[@]}" "$@"
    rm -f taken.trace
    CONF=taken.cnf TRACE=taken.trace sign_and_verify key.pem
    expect_engine 2048 1 taken.trace
}
left_out programs_deny programs_deny="$path"
left_out programs_deny programs_deny="/none, ${path%/*}/*" \
    programs_allow="$path"
left_out programs_allow programs_allow=/none,/usr/none/*
taken programs_allow="/none, ${path%/*}/*"
taken programs_deny=/none
for value in 1 yes; do
    WARPRSA_DISABLE=$value left_out WARPRSA_DISABLE
done
WARPRSA_DISABLE=0 taken
WARPRSA_DISABLE='' taken

# A server, before its first handshake and after it. The control is one that
# connects to a daemon.
shape() { # its threads, and what its descriptors are
    local fd tasks=("/proc/$server/task/"*)
    echo "${#tasks[@]} threads"
    for fd in "/proc/$server/fd/"*; do
        readlink "$fd" || :
    done | sed 's/[0-9]\+//g' | sort
}
is_as_before() { # once the connection has gone
    shape | cmp -s - null.shape
}
daemon=(mode=daemon "socket=$work/daemon.sock")
python3 - "$work/daemon.sock" <<'END' 2>/dev/null & listener=$!
import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1]); s.listen(8); time.sleep(600)
END
servers+=("$listener")
wait_for 60 test -S daemon.sock
for cnf in daemon.cnf left.cnf; do
    configure "$cnf" "$MODULE" "${daemon[@]}" engine="$ENGINE" route=auto \
        trace=none
done
echo "programs_deny = $path" >>left.cnf
for cnf in /dev/null left.cnf daemon.cnf; do
    : >server.log # the server before has written ACCEPT there
    OPENSSL_CONF=$cnf "$OPENSSL" s_server -accept 127.0.0.1:0 \
        -cert certificate.pem -key key.pem -www >server.log 2>&1 </dev/null &
    server=$!
    servers+=("$server")
    wait_for 60 grep -q '^ACCEPT .*:' server.log
    port=$(sed -n '/^ACCEPT .*:/{s///p;q}' server.log)
    shape >"${cnf##*/}.shape"
    handshakes "$port" 1
    [ "$cnf" = daemon.cnf ] || wait_for 60 is_as_before
done
diff null.shape left.cnf.shape || fail "the provider has left something"
! cmp -s null.shape daemon.cnf.shape || fail "the control sees nothing"

refused() { # WANTED KEY=VALUE
    configure bad.cnf "$MODULE" "$2"
    # shellcheck disable=SC2069
    OPENSSL_CONF=bad.cnf WARPRSA_TRACE=stderr "$OPENSSL" list -providers \
        2>&1 >/dev/null | grep -F "$1" >/dev/null || fail "$2 is taken"
}
refused 'programs_deny = nginx: expected none, or patterns' programs_deny=nginx
refused 'programs_allow = /a,: expected all, or patterns' programs_allow=/a,
