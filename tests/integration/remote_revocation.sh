#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whose certificate is taken, and for how long. Names stand in subjectAltName and
# have no wildcards, the usage is that of the role, each role may have its own
# authority, and a private key is for its owner. Who is revoked by a list, or
# taken out of the map, loses connection and keys, on either side.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/gpu_host.sh"

authority hosts
authority clients
# NAME EXTENSION...: as a GPU host's certificate, of the subject CN=localhost.
host_certificate() {
    local name=$1
    shift
    plain req -newkey rsa:2048 -nodes -keyout "$name.key" -out "$name.csr" \
        -subj /CN=localhost 2>/dev/null
    printf '%s\n' "$@" keyUsage=critical,digitalSignature >"$name.ext"
    plain x509 -req -in "$name.csr" -CA hosts.pem -CAkey hosts.key \
        -CAcreateserial -days 2 -extfile "$name.ext" -out "$name.pem" \
        2>/dev/null
}
server=extendedKeyUsage=serverAuth
host_certificate right subjectAltName=DNS:localhost "$server"
host_certificate no_name "$server"
host_certificate other_name subjectAltName=DNS:gpu.example.org "$server"
host_certificate uri subjectAltName=URI:spiffe://example.org/gpu "$server"
host_certificate wildcard 'subjectAltName=DNS:*' "$server"
host_certificate no_usage subjectAltName=DNS:localhost
host_certificate client_usage subjectAltName=DNS:localhost \
    extendedKeyUsage=clientAuth
certificate web clients DNS:web1.example.org
certificate server_of_clients clients DNS:localhost
echo 'dns:web1.example.org' >map

# start_host NAME OPTION...: a GPU host with this certificate.
start_host() {
    local name=$1
    shift
    tls "$name" clients
    start_gpu_host "$name" --listen=localhost:0 "${tls[@]}" \
        --identities="$work/map" "$@"
}
end_host() {
    kill -TERM "$gateway" "$host"
    wait "$gateway" "$host" 2>/dev/null || :
}
# start_web NAME OPTION...: a TLS host that uses it; sets "daemon".
start_web() {
    local name=$1
    shift
    tls "$name" hosts
    start_remote --remote-hosts="localhost:$port" "${tls[@]}" "$@"
}
end_web() {
    kill -TERM "$daemon"
    wait "$daemon" 2>/dev/null || :
}
stop_both() {
    end_web
    end_host
}

for name in no_name other_name uri wildcard; do
    start_host "$name"
    start_web web
    wait_for 60 grep -q 'refused: hostname mismatch' daemon.log
    stop_both
done
for name in no_usage client_usage; do
    start_host "$name"
    start_web web
    wait_for 60 grep -qE 'no extendedKeyUsage serverAuth|purpose' daemon.log
    stop_both
done
# Right in all but the authority, which is that of the clients.
start_host server_of_clients
start_web web
wait_for 60 grep -q 'certificate of /CN=clients refused: self-signed' \
    daemon.log
stop_both
# The other way round: a certificate of the clients' authority without the usage,
# and one of the hosts' authority.
plain req -newkey rsa:2048 -nodes -keyout bare.key -out bare.csr -subj /CN=bare \
    2>/dev/null
echo subjectAltName=DNS:web1.example.org >bare.ext
plain x509 -req -in bare.csr -CA clients.pem -CAkey clients.key -CAcreateserial \
    -days 2 -extfile bare.ext -out bare.pem 2>/dev/null
host_certificate web_of_hosts subjectAltName=DNS:web1.example.org \
    extendedKeyUsage=clientAuth
start_host right
for name in bare:'no extendedKeyUsage clientAuth' \
    web_of_hosts:'self-signed certificate in'; do
    start_web "${name%%:*}"
    wait_for 60 grep -q "refused: .*${name#*:}" right.gateway.log
    end_web
done

# A private key that others may read.
chmod 644 web.key
start_web web
wait_for 60 grep -q 'web.key: mode 0644: a private key is for its owner' \
    daemon.log
end_web
chmod 640 web.key

# Lists of what is revoked; at first nothing is.
mkdir lists
for name in hosts clients; do
    mkdir "lists/$name"
    : >"lists/$name/index"
    echo 01 >"lists/$name/number"
    cat >"lists/$name/cnf" <<END
[ca]
default_ca=one
[one]
database=$work/lists/$name/index
crlnumber=$work/lists/$name/number
default_md=sha256
default_crl_days=2
END
done
list() { # AUTHORITY [CERTIFICATE-TO-REVOKE]
    [ $# -lt 2 ] || plain ca -config "lists/$1/cnf" -cert "$1.pem" \
        -keyfile "$1.key" -revoke "$2.pem" 2>/dev/null
    plain ca -config "lists/$1/cnf" -cert "$1.pem" -keyfile "$1.key" -gencrl \
        -out "$1.crl" 2>/dev/null
}
list hosts
list clients
end_host
start_host right --tls-crl="$work/clients.crl"
start_web web --tls-crl="$work/hosts.crl"
wait_for 60 grep -q 'in use, localhost' daemon.log
rsa_key 2048 key.pem
configure openssl.cnf "$MODULE" mode=daemon "socket=$work/warprsad.sock" \
    "${PATIENT[@]}"
sign_and_verify key.pem
[ "$(live "$host" gpu)" -ge 1 ] || fail "the GPU host computed nothing"
[ "$(live "$host" keys)" -ge 1 ] || fail "the GPU host has no key"

# The client is revoked: its connection ends, and its keys are wiped.
list clients web
kill -HUP "$gateway"
wait_for 60 grep -q 'connection ended: certificate of .* refused: .*revoked' \
    right.gateway.log
wait_for 60 grep -q 'out of use' daemon.log
has_no_key() {
    [ "$(live "$host" keys)" = 0 ]
}
wait_for 60 has_no_key
sign_and_verify key.pem
wait_for 60 grep -q '(unknown): certificate of .* refused: .*revoked' right.gateway.log

# A list that can't be read is a mistake of the administrator's: it is said, and
# the former one counts.
echo nothing >clients.crl
kill -HUP "$gateway"
wait_for 60 grep -q 'clients.crl: ' right.gateway.log
: >lists/clients/index
list clients
kill -HUP "$gateway"
in_use_again() {
    [ "$(grep -c 'in use, localhost' daemon.log)" -ge 2 ]
}
wait_for 60 in_use_again

# The GPU host is revoked: the TLS host gives it up.
list hosts right
kill -HUP "$daemon"
wait_for 60 grep -q 'out of use.*certificate of .* refused: .*revoked' daemon.log
sign_and_verify key.pem
! grep -q 'broke the protocol' ./*.log || fail "a protocol was broken"
stop_both
