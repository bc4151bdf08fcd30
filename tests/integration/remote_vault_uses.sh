#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A TLS host whose keys are on GPU hosts: its keys.conf names them, and its
# programs use the same references as with a vault of its own. Signatures,
# decryptions and handshakes, each checked by a process without warprsa; rules
# on both sides; a host that is killed under load, one that hangs, and none at
# all.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/gpu_host.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"
. "$SOURCE_DIR/tests/integration/remote_vault_hosts.sh"

echo "to be signed" >message
vault_key www 2048
vault_key raw 2048
vault_key long 4096
vault_key pss 2048 -algorithm RSA-PSS
vault_key primes 2048 -pkeyopt rsa_keygen_primes:3
vault_key here 2048 # on the first host alone, then on the TLS host, too
cat >host.conf <<END
www     identity=dns:web1.example.org  sign padding=pkcs1,pss digest=any
www     identity=dns:web1.example.org  decrypt padding=oaep,tls digest=any
raw     identity=dns:web1.example.org  sign decrypt padding=none
long    identity=dns:web1.example.org  sign padding=pkcs1 digest=sha256
pss     identity=dns:web1.example.org  sign padding=pss digest=any
primes  identity=dns:web1.example.org  sign decrypt padding=pkcs1 digest=any
here    identity=dns:web1.example.org  sign padding=pkcs1 digest=sha256
www     user=$ME  sign padding=pkcs1 digest=sha256
END
cp -rp keys keys1
rm keys/here.pem
cp -rp keys keys2
rm -r keys
{
    for name in www raw long pss primes here; do
        remote_line "$name"
    done
    cat <<END
www     user=$ME  sign padding=pkcs1,pss digest=any
www     user=$ME  decrypt padding=oaep,tls digest=any
raw     user=$ME  sign decrypt padding=none
long    user=$ME  sign padding=pkcs1,pss digest=sha256
pss     user=$ME  sign padding=pss digest=sha256
primes  user=$ME  sign decrypt padding=pkcs1 digest=any
here    user=$ME  sign padding=pkcs1 digest=sha256
END
} >keys.conf

# warprsad has no network.
"$BUILD_DIR/batching/daemon/warprsad" --engine=host --socket="$work/alone.sock" \
    --keys-rules="$work/keys.conf" >alone.log 2>&1 &
alone=$!
servers+=("$alone")
wait_for 120 grep -q ready: alone.log
grep -q 'key www: refused: it is a key of GPU hosts, and warprsad has no network' \
    alone.log || fail "$(cat alone.log)"
terminate "$alone"

# No host is there yet: programs get references, and a use waits until its
# deadline. The error names key and socket.
configure openssl.cnf "$MODULE" "${WITH_DAEMON[@]}" deadline_ms=60000
configure short.cnf "$MODULE" "${WITH_DAEMON[@]}" deadline_ms=1500
vault_host 1
vault_host 2
# The line is the one that warprsa-key shows where the key is.
"$KEY_TOOL" --socket "$work/host1.sock" show www >shown.txt
[ "$(sed -n 's/^remote: //p' shown.txt)" = "$(remote_line www)" ] ||
    fail "$(cat shown.txt)"
stop_vault_host 1
stop_vault_host 2
use_hosts 1 2
grep -q 'key www: added: RSA of 2048 bits, which GPU hosts have' daemon.log ||
    fail "$(cat daemon.log)"
for name in www raw long pss primes here; do
    reference "$name"
done
! CONF=short.cnf signs www -sha256 2>error || fail "who has signed that?"
grep -q "www" error || fail "no key in: $(cat error)"
grep -qF "$work/warprsad.sock" error || fail "no socket in: $(cat error)"
vault_host 1 "${ports[1]}"
vault_host 2 "${ports[2]}"

# remotely COUNT COMMAND...: so many uses, all of them by the hosts.
remotely() {
    local wanted=$1 before
    shift
    before=$(live "$daemon" vault_remote)
    "$@"
    wanted=$((before + wanted))
    [ "$(live "$daemon" vault_remote)" = "$wanted" ] ||
        fail "$(live "$daemon" vault_remote) uses, not $wanted: $*"
}

signs www -sha256 # behind the use that waits, though its program has gone
remotely 1 signs www -sha256
remotely 1 signs www -sha384
remotely 1 signs www -sha256 -sigopt rsa_padding_mode:pss
remotely 1 signs www -sha256 -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:20
remotely 1 signs www -sha256 -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:max
remotely 1 signs pss -sha256
remotely 1 signs long -sha256
remotely 1 signs primes -sha256
remotely 1 signs_by_uri www
remotely 1 decrypts www -pkeyopt rsa_padding_mode:oaep
remotely 1 decrypts www -pkeyopt rsa_padding_mode:oaep \
    -pkeyopt rsa_oaep_md:sha256
remotely 1 decrypts primes
remotely 2 signs_number raw
[ "$(live "$daemon" vault_libcrypto)" = 0 ] || fail "libcrypto has computed"
[ "$(live "$daemon" vault_remote_wrong)" = 0 ] || fail "something was wrong"

# An input that is none gets libcrypto's error, from here or from the host.
head -c 256 /dev/zero | tr '\0' '\377' >too_large
! with_provider rsautl -sign -raw -inkey raw.ref -in too_large 2>error ||
    fail "a number above the modulus is signed"
grep -q 'data too large for modulus' error || fail "$(cat error)"
moved=$(live "$daemon" vault_remote_moved)
! with_provider pkeyutl -decrypt -inkey raw.ref -in too_large -out got \
    -pkeyopt rsa_padding_mode:none 2>error ||
    fail "a number above the modulus is decrypted"
grep -q 'data too large for modulus' error || fail "$(cat error)"
[ "$(live "$daemon" vault_remote_moved)" = "$moved" ] || fail "a host was asked"
head -c 256 /dev/urandom | tr '\200-\377' '\0-\177' >noise
! with_provider pkeyutl -decrypt -inkey www.ref -in noise -out got \
    -pkeyopt rsa_padding_mode:oaep 2>error || fail "noise is decrypted"
grep -q 'oaep decoding error' error || fail "$(cat error)"

# TLS: of PSS, PKCS#1, and a key exchange by RSA.
OPENSSL_CONF=$work/openssl.cnf "$OPENSSL" req -x509 -new -key www.ref \
    -subj /CN=localhost -days 2 -out certificate.pem
shake() { # S_SERVER-OPTION...
    serve_with_provider -key www.ref -cert certificate.pem -naccept 1 "$@"
    answers "$port" || [ $? -eq 141 ] || fail "no handshake: $*"
    wait "$server" || :
}
remotely 1 shake -tls1_3
remotely 1 shake -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256
remotely 1 shake -tls1_2 -cipher AES128-GCM-SHA256

# Rules: of this host, which no GPU host hears of; and of those, which are
# stricter about two keys.
denied pss 'sign, padding pss, digest sha512' \
    with_provider dgst -sha512 -sign pss.ref message
! grep -q 'identity dns:web1.example.org.*digest sha512' host1.log host2.log ||
    fail "a host was asked"
denied_there() { # KEY WHAT COMMAND...
    local key=$1 what=$2
    shift 2
    ! "$@" 2>error || fail "not denied: $*"
    grep -q "key $key: denied by host 127.0.0.1:[0-9]*: $what" daemon.log ||
        fail "not in the log: key $key, $what: $(tail -n 5 daemon.log)"
    grep -qh "key $key: denied to identity dns:web1.example.org" host?.log ||
        fail "no host has logged it"
}
denied_there long 'sign, padding pss, digest sha256: there keys.conf does not allow' \
    with_provider dgst -sha256 -sigopt rsa_padding_mode:pss -sign long.ref message

# A key that one host alone has.
for _ in 1 2 3 4 5 6; do
    signs here -sha256
done
grep -q "key here: host 127.0.0.1:${ports[2]} does not have it" daemon.log ||
    echo "the second host was never asked"

# The private numbers are on no TLS host.
if command -v python3 >/dev/null; then
    scan() {
        local status=0
        OPENSSL=$OPENSSL python3 "$SOURCE_DIR/tests/integration/scan_memory.py" \
            "$@" >scan.log || status=$?
        cat scan.log
        [ "$status" != 2 ] || fail "the memory of processes can't be read here"
        return "$status"
    }
    scan keys1/www.pem "$(pgrep -P "${computes[1]}")" ||
        fail "the scan does not find it where it is"
    ! scan keys1/www.pem "$daemon" "$(serving)" || fail "it is on the TLS host"
fi

# Under load: a host is killed, comes back, and the other one is killed.
start_signing
has_signed 20
kill_vault_host 1
has_signed 20
vault_host 1 "${ports[1]}"
wait_for 60 grep -q "127.0.0.1:${ports[1]}: ready for uses" daemon.log
has_signed 20
kill_vault_host 2
has_signed 20
end_signing

# All are away: uses wait, and are done when one comes back.
kill_vault_host 1
with_provider dgst -sha256 -sign www.ref -out sig message &
waiting=$!
servers+=("$waiting")
! CONF=short.cnf signs www -sha256 2>error || fail "who has signed that?"
grep -q www error
kill -0 "$waiting" || fail "it has not waited"
vault_host 2 "${ports[2]}"
wait "$waiting" || fail "it has waited in vain"
plain dgst -sha256 -verify www.pub -signature sig message

# One that neither answers nor ends: the other one has its uses.
vault_host 1 "${ports[1]}"
wait_for 60 grep -q "127.0.0.1:${ports[1]}: ready for uses" daemon.log
start_signing
has_signed 20
kill -STOP "$(pgrep -P "${computes[1]}")"
has_signed 20
kill -CONT "$(pgrep -P "${computes[1]}")"
has_signed 20
end_signing

# By a reload: a key that comes to this host, one that goes, and hosts.
grep -v '^raw  *remote' keys.conf >without
cp without keys.conf
reload_until 'keys and rules have been read'
grep -q 'key raw: removed' daemon.log || fail "$(tail -n 5 daemon.log)"
! with_provider rsautl -sign -raw -inkey raw.ref -in number 2>error ||
    fail "a key that is gone"
echo 'new remote spki=AAAA' >>keys.conf
reload_until 'rules not read'
grep -q 'keys.conf:[0-9]*:17: "AAAA": expected spki=' daemon.log ||
    fail "$(tail -n 5 daemon.log)"
signs www -sha256
terminate "$daemon"
