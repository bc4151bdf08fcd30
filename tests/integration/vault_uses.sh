#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keys that the daemon holds, used by programs that have references: signatures,
# decryption, TLS handshakes, each checked by a process without warprsa. What no
# rule allows is denied, and what is no key is refused by its name.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"

echo "to be signed" >message
vault_key www 2048
vault_key ca 3072
vault_key raw 2048
vault_key pss 2048 -algorithm RSA-PSS
vault_key primes 2048 -pkeyopt rsa_keygen_primes:3
vault_key pkcs1 2048
vault_key locked 2048
(
    umask 077
    plain rsa -in keys/pkcs1.pem -traditional -out pkcs1.pem 2>/dev/null
    mv pkcs1.pem keys/pkcs1.pem
    echo "a passphrase" >passphrase
    plain pkey -in keys/locked.pem -aes256 -passout file:passphrase \
        -out locked.pem
    mv locked.pem keys/locked.pem
)
grep -q 'BEGIN RSA PRIVATE KEY' keys/pkcs1.pem
grep -q 'BEGIN ENCRYPTED PRIVATE KEY' keys/locked.pem
# What is no key of the vault.
vault_key open 2048
chmod 644 keys/open.pem
ln -s www.pem keys/link.pem
vault_key curve 0 -algorithm EC -pkeyopt ec_paramgen_curve:P-256
(umask 077 && echo "nothing" >keys/broken.pem && : >"keys/no name.pem")
cat >keys.conf <<END
www     user=$ME   sign padding=pkcs1,pss digest=sha256,sha384
www     user=$ME   decrypt padding=oaep digest=any
www     user=$ME   decrypt padding=tls
ca      user=$ME   sign padding=pkcs1 digest=sha256
raw     user=$ME   sign decrypt padding=none
pss     user=$ME   sign padding=pss digest=any
primes  user=$ME   sign decrypt padding=pkcs1 digest=any
pkcs1   user=$ME   sign padding=pkcs1 digest=sha256
locked  user=$ME   sign padding=pkcs1 digest=sha256
END
start_vault --keys-passphrase-file="$work/passphrase"
refused() { # NAME WHY
    grep -q "key $1: refused: $2" daemon.log || fail "not in the log: $1: $2"
}
refused open 'others may read or write it (mode 0644)'
refused link 'it is a symbolic link'
refused curve 'it is a key of the type EC: expected RSA'
refused broken 'it has no key'
refused 'no name' 'expected '
[ "$(grep -c 'key .*: added: ' daemon.log)" = 7 ]
grep -q 'key primes: added: RSA of 2048 bits, which no engine takes' daemon.log

key_tool list >list.txt
[ "$(awk 'NR > 1 { print $1 }' list.txt | xargs)" = \
    "ca locked pkcs1 primes pss raw www" ] || fail "$(cat list.txt)"
key_tool show www >shown.txt
grep -q '^allowed: sign padding=pkcs1,pss digest=sha256,sha384' shown.txt
for name in www ca raw pss primes pkcs1 locked; do
    reference "$name"
done

# Signatures, one-shot and streaming.
uses 1 signs www -sha256
uses 1 signs www -sha384
uses 1 signs ca -sha256
uses 1 signs pkcs1 -sha256
uses 1 signs locked -sha256
uses 1 signs www -sha256 -sigopt rsa_padding_mode:pss
uses 1 signs www -sha256 -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:20
uses 1 signs pss -sha512
cms() {
    plain req -x509 -new -key keys/www.pem -subj /CN=www -days 2 -out www.crt
    with_provider cms -sign -signer www.crt -inkey www.ref -in message \
        -out signed.cms
    plain cms -verify -CAfile www.crt -in signed.cms -purpose any -out verified
}
uses 1 cms
request() {
    with_provider req -new -key ca.ref -subj /CN=ca -out ca.csr
    plain req -verify -in ca.csr -noout
}
uses 1 request
uses 1 signs_by_uri ca

# Decryption.
uses 1 decrypts www -pkeyopt rsa_padding_mode:oaep
uses 1 decrypts www -pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256
uses 2 signs_number raw

# What no engine takes, libcrypto computes on the vault's threads.
before=$(live "$daemon" vault_libcrypto)
signs primes -sha256
decrypts primes
[ "$(live "$daemon" vault_libcrypto)" = $((before + 2)) ] ||
    fail "$(live "$daemon" vault_libcrypto) uses by libcrypto"

# TLS: of PSS, PKCS#1, and a key exchange by RSA.
cp www.crt certificate.pem
shake() { # S_SERVER-OPTION...
    serve_with_provider -key www.ref -cert www.crt -naccept 1 "$@"
    answers "$port" || [ $? -eq 141 ] || fail "no handshake: $*"
    wait "$server" || :
}
uses 1 shake -tls1_3
uses 1 shake -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256
uses 1 shake -tls1_2 -cipher AES128-GCM-SHA256

# Private numbers stay where they are.
! with_provider pkey -in www.ref -out stolen.pem 2>error || fail "it is exported"
! with_provider rsa -in www.ref -out stolen.pem 2>error || fail "it is exported"

# Denials: by digest, padding and operation.
denied www 'sign, padding pkcs1, digest sha512' \
    with_provider dgst -sha512 -sign www.ref message
denied ca 'sign, padding pss, digest sha256' \
    with_provider dgst -sha256 -sigopt rsa_padding_mode:pss -sign ca.ref message
denied www 'sign, padding none' \
    with_provider rsautl -sign -raw -inkey www.ref -in number
plain pkeyutl -encrypt -pubin -inkey ca.pub -in secret -out secret.enc
denied ca 'decrypt, padding pkcs1' \
    with_provider pkeyutl -decrypt -inkey ca.ref -in secret.enc
denied raw 'sign, padding pkcs1, digest sha256' \
    with_provider dgst -sha256 -sign raw.ref message
uses 1 signs www -sha256 # and what is allowed still is

# By user.
if [ "$(id -u)" = 0 ]; then
    need setpriv
    chmod a+x "$work"
    chmod a+rw warprsad.sock
    by_other() {
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    }
    ! by_other "$KEY_TOOL" --socket "$work/warprsad.sock" show www 2>error ||
        fail "another user is told of the key"
    grep -q 'has no key www that this user may use' error
    export OPENSSL_CONF=$work/openssl.cnf
    denied www 'user 65534 .*sign, padding pkcs1, digest sha256' \
        by_other "$OPENSSL" dgst -sha256 -sign www.ref message
    # The log alone says that there is this key.
    grep -q 'the vault has no such key for this user' denied.out
    grep -q 'denied to user 65534 .*allows this user nothing with it' daemon.log
    export OPENSSL_CONF=/dev/null
fi
[ "$(live "$daemon" checks_failed)" = 0 ] || fail "checks failed"

# By key and user, in warprsa-stat.
accounts() { # LINE: of the daemon
    "$BUILD_DIR/batching/warprsa-stat" "$daemon" >shown.txt
    grep -qxF -e "  key $1" shown.txt || fail "not \"$1\" in: $(cat shown.txt)"
}
accounts "www by $(id -u): 11 uses, 1 denied (padding), 1 denied (digest)"
accounts "ca by $(id -u): 3 uses, 1 denied (operation), 1 denied (padding)"
terminate "$daemon"
grep -q "key www: user $(id -u): 11 uses, 2 denials so far" daemon.log ||
    fail "no audit of the key www"

# What is counted goes on from one serving process to the next.
start_vault --keys-passphrase-file="$work/passphrase"
signs www -sha256
accounts "www by $(id -u): 1 uses"
kill -9 "$(serving)"
signs www -sha256
accounts "www by $(id -u): 2 uses"
# As a metric, summed over all daemons of this user.
"$BUILD_DIR/batching/warprsa-stat" --prometheus >metrics.txt
summed=$(sed -n "s/^warprsad_key_uses_total{user=\"$ME\",key=\"www\",by=\"$(id -u)\"} //p" \
    metrics.txt)
[ "${summed:-0}" -ge 2 ] || fail "$(grep key_ metrics.txt)"
