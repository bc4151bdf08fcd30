#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The PKCS #11 module in OpenSC's pkcs11-tool, which lists the token's objects,
# runs its own tests, signs by each mechanism and decrypts. All is verified by a
# process without warprsa, and the daemon counts each use. What no rule allows is
# refused.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"
. "$SOURCE_DIR/tests/integration/pkcs11.sh"
need pkcs11-tool

echo "to be signed" >message
vault_key ca 3072
vault_key www 2048
vault_key raw 2048
vault_key pss 2048 -algorithm RSA-PSS
vault_key hidden 2048
certificate_of ca
certificate_of www ca
cat >keys.conf <<END
ca      user=$ME   sign padding=pkcs1 digest=sha1,sha256
www     user=$ME   sign padding=pkcs1,pss digest=any
www     user=$ME   decrypt padding=pkcs1
www     user=$ME   decrypt padding=oaep digest=any
raw     user=$ME   sign decrypt padding=none
pss     user=$ME   sign padding=pss digest=sha256
hidden  user=65533 sign padding=pkcs1 digest=sha256
END
start_vault

# The slot, the token, what it can do.
p11 -L >slots.txt
grep -q 'token label *: warprsa$' slots.txt || fail "$(cat slots.txt)"
grep -q 'token flags *: .*rng' slots.txt || fail "$(cat slots.txt)"
p11 -M >mechanisms.txt
grep -q 'SHA256-RSA-PKCS-PSS, keySize={1024,16384}, hw, sign, verify' mechanisms.txt

# The objects: four keys of this user, with their certificates.
p11 -O >objects.txt
labels() { # CLASS: the labels of all objects of it
    awk -v "class=$1" '/^[A-Z]/ { in_it = index($0, class) == 1 }
        in_it && $1 == "label:" { print $2 }' objects.txt | sort | xargs
}
for class in 'Private Key' 'Public Key'; do
    [ "$(labels "$class")" = "ca pss raw www" ] ||
        fail "$class: $(cat objects.txt)"
done
[ "$(labels Certificate)" = "ca www" ] ||
    fail "certificates: $(cat objects.txt)"
# A key is named by the SHA-1 of its modulus, in all its objects, as NSS names it.
id_of() { # NAME
    awk -v "name=$1" '$1 == "label:" { label = $2 }
        $1 == "ID:" && label == name { print $2; exit }' objects.txt
}
modulus=$(plain rsa -pubin -in www.pub -noout -modulus)
modulus=$(sed 's/Modulus=//; s/../\\x&/g' <<<"$modulus")
# shellcheck disable=SC2059
wanted=$(printf "$modulus" | sha1sum)
[ "$(id_of www)" = "${wanted%% *}" ]
[ "$(grep -c "ID: *$(id_of www)" objects.txt)" = 3 ] || fail "$(cat objects.txt)"
# Each is read out as it is: the public key and the certificate.
p11 --read-object --type pubkey --label www -o www.spki
plain pkey -pubin -in www.pub -outform DER -out wanted.spki
cmp www.spki wanted.spki
p11 --read-object --type cert --label www -o www.der
plain x509 -in www.crt -outform DER -out wanted.der
cmp www.der wanted.der

# OpenSC's own tests: digests, signatures, decryption, random numbers. Those of
# signatures run only for mechanisms that the device performs, once the user has
# logged in. They sign DigestInfos of SHA-1.
before=$(live "$daemon" vault_uses)
p11 --login --pin 4711 --test >test.txt 2>&1 || fail "$(cat test.txt)"
grep -q '^No errors$' test.txt || fail "$(cat test.txt)"
ran() { # PART KEY MECHANISM: the part has tried this mechanism of the key
    awk -v "part=$1" -v "key=($2)" -v "line=$3: OK" '
        /^[A-Z].*\(currently/ { in_part = index($0, part) == 1 }
        /^  testing key/ { in_key = $4 == key }
        in_part && in_key && $0 ~ "^    " line "$" { found = 1 }
        END { exit !found }' test.txt || fail "$*: $(cat test.txt)"
}
for mechanism in RSA-PKCS SHA1-RSA-PKCS SHA256-RSA-PKCS; do
    ran Signatures ca $mechanism
done
ran Signatures www RSA-PKCS
ran Verify raw RSA-X-509
ran Decryption www RSA-PKCS
! grep -q '^Signatures: ' test.txt || fail "$(cat test.txt)"
[ "$(live "$daemon" vault_uses)" -gt "$before" ] || fail "no use is counted"

# sign NAME MECHANISM INPUT [PKCS11-TOOL-OPTION...]
sign() {
    local name=$1 mechanism=$2 input=$3
    shift 3
    rm -f sig
    p11 --sign --id "$(id_of "$name")" --mechanism "$mechanism" -i "$input" -o sig "$@"
}

# Each digest, by the mechanism that hashes.
for digest in 1 224 256 384 512; do
    uses 1 sign www "SHA$digest-RSA-PKCS" message
    verified www "-sha$digest"
    uses 1 sign www "SHA$digest-RSA-PKCS-PSS" message
    verified www "-sha$digest" -sigopt rsa_padding_mode:pss
done
uses 1 sign ca SHA256-RSA-PKCS message
verified ca -sha256
uses 1 sign pss SHA256-RSA-PKCS-PSS message
verified pss -sha256
# In parts: pkcs11-tool reads large files piece by piece.
head -c 1000000 /dev/urandom >large
uses 1 sign www SHA256-RSA-PKCS large
plain dgst -sha256 -verify www.pub -signature sig large

# What the program has hashed itself: a DigestInfo, a hash, a number.
plain dgst -sha256 -binary -out hash message
printf '\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20' \
    >info
cat hash >>info
uses 1 sign ca RSA-PKCS info
verified ca -sha256
uses 1 sign www RSA-PKCS-PSS hash --hash-algorithm SHA256
verified www -sha256 -sigopt rsa_padding_mode:pss
{ printf '\0\1' && head -c 254 /dev/urandom; } >number
uses 1 sign raw RSA-X-509 number
plain pkeyutl -verifyrecover -pubin -inkey raw.pub -in sig \
    -pkeyopt rsa_padding_mode:none -out got
cmp got number

# Decryption.
head -c 100 /dev/urandom >secret
plain pkeyutl -encrypt -pubin -inkey www.pub -in secret -out secret.enc
uses 1 p11 --decrypt --id "$(id_of www)" --mechanism RSA-PKCS -i secret.enc -o got
cmp got secret
plain pkeyutl -encrypt -pubin -inkey www.pub -in secret -out secret.enc \
    -pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256
uses 1 p11 --decrypt --id "$(id_of www)" --mechanism RSA-PKCS-OAEP \
    --hash-algorithm SHA256 --mgf MGF1-SHA256 -i secret.enc -o got
cmp got secret

# What no rule allows: by the module, which knows the rules for mechanisms, and
# by the daemon, which knows what was signed.
refused() { # CKR COMMAND...
    local rv=$1
    shift
    ! "$@" >refused.txt 2>&1 || fail "it is allowed: $*"
    grep -q "$rv" refused.txt || fail "not $rv: $(cat refused.txt)"
}
refused CKR_MECHANISM_INVALID sign ca SHA384-RSA-PKCS message
refused CKR_MECHANISM_INVALID sign www RSA-X-509 number
refused CKR_KEY_FUNCTION_NOT_PERMITTED p11 --decrypt --id "$(id_of ca)" \
    --mechanism RSA-PKCS -i secret.enc -o got
refused CKR_KEY_FUNCTION_NOT_PERMITTED sign ca RSA-PKCS hash
grep -q "key ca: denied to .*sign, padding pkcs1, digest none" daemon.log
refused . p11 --keypairgen --key-type rsa:2048 --label new
refused . p11 --delete-object --type privkey --label www

# A key that comes and one that goes show in the next search.
vault_key new 2048
echo "new user=$ME sign padding=pkcs1 digest=sha256" >>keys.conf
reload_until 'key new: added'
p11 -O >objects.txt
uses 1 sign new SHA256-RSA-PKCS message
verified new -sha256
rm keys/new.pem
reload_until 'key new: removed'
refused 'key not found' sign new SHA256-RSA-PKCS message

# A daemon that is killed and started again: the program waits.
kill -9 "$(serving)"
uses_again() {
    sign www SHA256-RSA-PKCS message
    verified www -sha256
}
uses_again
[ "$(live "$daemon" checks_failed)" = 0 ] || fail "checks failed"
