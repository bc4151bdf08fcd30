#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keys of the GPU host's vault, used by identities of the network: a client made
# of warprsa.proto and python3-grpcio alone signs and decrypts by them, and
# checks the results by python3-cryptography. What keys.conf does not allow the
# identity is denied, in the log and the counters under its name; what the
# gateway's own user may do is of no use to it. A client that lies gets nothing.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/gpu_host.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"

need_grpc
rsa_key 2048 own.pem
authority ca
certificate server ca DNS:gpu.example.org
certificate web1 ca DNS:web1.example.org
certificate web2 ca URI:spiffe://example.org/web2
cat >map <<'END'
dns:web1.example.org sessions=4 keys=256 operations=4096
uri:spiffe://example.org/web2 sessions=1
END
for name in www raw theirs gone; do
    vault_key "$name" 2048
done
vault_key ca 3072
vault_key paced 1024
vault_key primes 2048 -pkeyopt rsa_keygen_primes:3
web1=identity=dns:web1.example.org
web2=identity=uri:spiffe://example.org/web2
# The gateway runs as $ME, too.
cat >keys.conf <<END
*       user=$ME  sign decrypt padding=none
*       user=$ME  sign decrypt padding=pkcs1 digest=any
www     $web1     sign padding=pkcs1,pss digest=sha256,sha384
www     $web1     decrypt padding=oaep digest=any
www     $web1     decrypt padding=pkcs1,tls
raw     $web1     sign decrypt padding=none
ca      $web1     sign padding=pkcs1 digest=sha256
primes  $web1     sign decrypt padding=pkcs1 digest=any
paced   $web1     sign padding=pkcs1 digest=sha256 rate=20
gone    $web1     sign decrypt padding=pkcs1 digest=sha256
theirs  $web2     sign padding=pkcs1 digest=sha256
END

client() { # NAME WHAT [ARGUMENT...]: with the certificate of this name
    local name=$1
    shift
    PYTHONDONTWRITEBYTECODE=1 timeout 300 "$python" \
        "$SOURCE_DIR/tests/integration/remote_vault.py" "127.0.0.1:$port" \
        "$work" ca.pem "$name.pem" "$name.key" "$@"
}

# uses NAME WHAT [ARGUMENT...]: the daemon has counted as many as the client has
# made.
uses() {
    local before made
    before=$(live "$daemon" vault_uses)
    client "$@" >client.log || fail "$*: $(cat client.log)"
    cat client.log
    made=$(sed -n 's/^uses //p' client.log)
    [ "$(live "$daemon" vault_uses)" = $((before + ${made:-0})) ] ||
        fail "$*: $(($(live "$daemon" vault_uses) - before)) uses, not $made"
}

accounts() { # LINE: of the daemon
    "$BUILD_DIR/batching/warprsa-stat" "$daemon" >shown.txt
    grep -qxE -e "  key $1" shown.txt || fail "not \"$1\" in: $(cat shown.txt)"
}

logged() { # TEXT: in the daemon's log
    grep -qE -- "$1" daemon.log || fail "not in the log: $1"
}

tls server
start_vault
start_gateway warprsad "${tls[@]}" --identities="$work/map"

uses web1 uses www raw primes
accounts "www by dns:web1.example.org: 22 uses"
accounts "primes by dns:web1.example.org: 3 uses"
uses web1 batch own.pem www ca
uses web1 lies own.pem www ca
[ "$(live "$daemon" vault_denials)" = 0 ] || fail "a lie was denied, not refused"

uses web1 denials www ca theirs paced
uses web2 other www theirs
accounts "www by dns:web1.example.org: [0-9]+ uses, 2 denied \(padding\), 2 denied \(digest\)"
accounts "www by uri:spiffe://example.org/web2: 0 uses, 1 denied \(user\)"
accounts "ca by dns:web1.example.org: [0-9]+ uses, 1 denied \(operation\)"
accounts "paced by dns:web1.example.org: [0-9]+ uses, [0-9]+ denied \(rate\)"
accounts "theirs by uri:spiffe://example.org/web2: 1 uses"
to_web1='denied to identity dns:web1\.example\.org \(process [0-9]+\)'
logged "key www: $to_web1: sign, padding none, digest none: .*the padding"
logged "key www: $to_web1: sign, padding pkcs1, digest sha512: .*the digest"
logged "key ca: $to_web1: decrypt, padding pkcs1, digest none: .*the operation"
logged "key theirs: $to_web1: sign, padding none, .* nothing with it"
logged "key paced: $to_web1: sign, .*used up its rate"
logged 'for dns:web1.example.org is denied a use of a key that the vault has not: spki_sha256 00000000'
! grep -q "by $(id -u):" shown.txt || fail "the gateway's user has an account"

# A key that is removed, and comes back, during a session.
mkfifo go again
client web1 removed gone <go >removed.log 2>&1 &
removed=$!
servers+=("$removed")
exec 4>go
wait_for 60 grep -q used removed.log
scan() { # WHAT PROCESS: whether it is in the memory of the process
    local status=0
    OPENSSL=$OPENSSL "$python" "$SOURCE_DIR/tests/integration/scan_memory.py" \
        "$@" >scan.log || status=$?
    cat scan.log
    [ "$status" != 2 ] || fail "the memory of $2 can't be read"
    return "$status"
}
if [ "$(id -u)" = 0 ]; then # who may look
    gateway_process=$(gateway_serving)
    scan text=spiffe://example.org/web2 "$gateway_process" ||
        fail "the scan does not find the gateway's map"
    ! scan 'text=encrypted for the vault, and for nobody' "$gateway_process" ||
        fail "a decrypted text stays in the gateway"
    scan keys/gone.pem "$(serving)" || fail "the vault has not even its own key"
    ! scan keys/gone.pem "$gateway_process" || fail "the gateway has the key"
fi
mv keys/gone.pem gone.pem
reload_until 'key gone: removed'
echo >&4
exec 4>&-
wait "$removed" || fail "$(cat removed.log)"
grep -q denied removed.log
client web1 back gone <again >back.log 2>&1 &
back=$!
servers+=("$back")
exec 4>again
wait_for 60 grep -q denied back.log
mv gone.pem keys/gone.pem
reload_until 'key gone: added'
echo >&4
exec 4>&-
wait "$back" || fail "$(cat back.log)"
[ "$(live "$daemon" checks_failed)" = 0 ] || fail "checks failed"

# Who is taken out of the rules is denied at once, as the log says.
sed -i 's/^ca /other /' keys.conf
reload_until 'there is no key other'
! client web1 batch own.pem ca >client.log 2>&1 || fail "it is still allowed"
grep -q STATUS_DENIED client.log || fail "$(cat client.log)"
terminate "$gateway"
terminate "$daemon"
grep -qE "key www: identity dns:web1.example.org: [0-9]+ uses, 4 denials so far" \
    daemon.log || fail "no audit of the key www"

# A daemon without a vault: no key is named, and clients' own keys are served.
start_daemon
start_gateway warprsad "${tls[@]}" --identities="$work/map"
client web1 none www own.pem
