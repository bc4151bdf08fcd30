#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Java's SunPKCS11 with the keys of the daemon: the key store, signatures,
# decryption, JSON web tokens by 256 threads, a TLS server. The recipe of
# doc/pkcs11.md.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/pkcs11_programs.sh"

need java javac
need_python cryptography python3-cryptography
start_token
# 256 threads at once, on a machine as slow as it may be.
cat >token.cfg <<END
name = warprsa
library = $PKCS11
nssArgs = "deadline_ms=600000"
END
javac -d . "$SOURCE_DIR/tests/integration/TokenUser.java" >java.log 2>&1 ||
    fail "$(cat java.log)"
user() { # ARGUMENT...: of TokenUser, to java.log
    java -Xshare:auto -XX:TieredStopAtLevel=1 -cp . TokenUser token.cfg "$@" \
        >java.log 2>&1 || fail "TokenUser $*: $(cat java.log)"
}

user list
grep -qx 'www key=true chain=2' java.log || fail "$(cat java.log)"

signs_in() { # ALGORITHM DGST-OPTION...
    user sign www "$1" message sig
    verified www "${@:2}"
}
uses 1 signs_in SHA256withRSA -sha256
uses 1 signs_in SHA512withRSA -sha512
uses 1 signs_in PS256 -sha256 -sigopt rsa_padding_mode:pss \
    -sigopt rsa_pss_saltlen:32

head -c 100 /dev/urandom >secret
decrypt() {
    plain pkeyutl -encrypt -pubin -inkey www.pub -in secret -out secret.enc
    user decrypt www RSA/ECB/PKCS1Padding secret.enc got
    cmp got secret
}
uses 1 decrypt

tokens() {
    user tokens www 256 4
    "$python" - www.pub java.log <<'END'
import base64
import sys
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

key = serialization.load_pem_public_key(open(sys.argv[1], "rb").read())
tokens = open(sys.argv[2]).read().split()
pss = padding.PSS(padding.MGF1(hashes.SHA256()), 32)
for token in tokens:
    text, _, signature = token.rpartition(".")
    head = base64.urlsafe_b64decode(text.partition(".")[0] + "==")
    key.verify(base64.urlsafe_b64decode(signature + "=="), text.encode(),
               pss if b"PS256" in head else padding.PKCS1v15(),
               hashes.SHA256())
assert len(set(tokens)) == 256 * 4, len(tokens)
END
}
uses 1024 tokens

serve_java() {
    java -cp . TokenUser token.cfg serve 2 >serve.log 2>&1 &
    servers+=("$!")
    wait_for 120 grep -q '^port ' serve.log
    shakes "$(sed -n 's/^port //p' serve.log)" "$@"
    shakes "$(sed -n 's/^port //p' serve.log)" -tls1_2 \
        -cipher ECDHE-RSA-AES128-GCM-SHA256
}
uses 2 serve_java -tls1_3
[ "$(live "$daemon" checks_failed)" = 0 ] || fail "checks failed"
