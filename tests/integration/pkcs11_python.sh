#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Python's PyKCS11 with the keys of the daemon: objects, signatures, decryption,
# and threads with a session each. The recipe of doc/pkcs11.md.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/pkcs11_programs.sh"

need_python PyKCS11 python3-pykcs11
start_token
user() { # ARGUMENT...: of pkcs11_user.py, to python.log
    "$python" "$SOURCE_DIR/tests/integration/pkcs11_user.py" "$PKCS11" "$@" \
        >python.log 2>&1 || fail "pkcs11_user.py $*: $(cat python.log)"
}

user list
for object in 'CKO_PRIVATE_KEY www' 'CKO_PUBLIC_KEY www' \
    'CKO_CERTIFICATE www' 'CKO_CERTIFICATE authority'; do
    grep -qx "$object" python.log || fail "no $object: $(cat python.log)"
done

signs_by() { # MECHANISM DGST-OPTION...
    user sign www "$1" message sig
    verified www "${@:2}"
}
uses 1 signs_by SHA256_RSA_PKCS -sha256
uses 1 signs_by SHA384_RSA_PKCS -sha384
uses 1 signs_by SHA256_RSA_PKCS_PSS -sha256 -sigopt rsa_padding_mode:pss \
    -sigopt rsa_pss_saltlen:32
! (verified www -sha256) 2>error || fail "another padding is verified"

head -c 100 /dev/urandom >secret
plain pkeyutl -encrypt -pubin -inkey www.pub -in secret -out secret.enc \
    -pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256
uses 1 user decrypt www secret.enc got
cmp got secret

mkdir signatures
uses 96 user threads www 32 3 signatures
for ((i = 0; i < 32; i++)); do
    for j in 0 1 2; do
        printf 'thread%d%d' $i $j >message
        cp "signatures/thread$i-$j.sig" sig
        verified www -sha256
    done
done
[ "$(live "$daemon" checks_failed)" = 0 ] || fail "checks failed"
