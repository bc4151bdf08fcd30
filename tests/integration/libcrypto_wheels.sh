#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Python's cryptography from PyPI, which has a libcrypto in it: OpenSSL 3.2, 3.5
# and 4.0. Each uses the provider for all of its signatures. It decrypts by its
# own: a wrong PKCS #1 v1.5 padding is an error in libcrypto before 3.2 and none
# in these, and that difference would be a padding oracle. Wheels are kept in
# BUILD_DIR for the next time.
. "$(dirname "$0")/lib.sh"
need python3

cat >use.py <<'P'
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.backends.openssl import backend
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

SHA256 = hashes.SHA256()
OAEP = padding.OAEP(padding.MGF1(SHA256), SHA256, None)
PADDINGS = (padding.PKCS1v15(), padding.PSS(padding.MGF1(SHA256), 32))
print(backend.openssl_version_text())
for bits in 1024, 2048:
    made = rsa.generate_private_key(65537, bits)
    key = serialization.load_pem_private_key(
        made.private_bytes(serialization.Encoding.PEM,
                           serialization.PrivateFormat.PKCS8,
                           serialization.NoEncryption()), None)
    for pad in PADDINGS:
        signature = key.sign(b"a message", pad, SHA256)
        key.public_key().verify(signature, b"a message", pad, SHA256)
        try:
            key.public_key().verify(signature, b"another", pad, SHA256)
            raise SystemExit("a wrong signature is right")
        except InvalidSignature:
            pass
    assert key.decrypt(key.public_key().encrypt(b"text", OAEP), OAEP) == b"text"
    try:
        key.decrypt(b"\1" * (bits // 8), OAEP)
        raise SystemExit("decrypted what was never encrypted")
    except ValueError:
        pass
    for first in range(1, 4):  # made-up bytes, and no error
        key.decrypt(bytes([first]) * (bits // 8), padding.PKCS1v15())
P

wheel() { # VERSION: a directory with it
    local into=$BUILD_DIR/wheels/$1
    [ -d "$into" ] || {
        timeout 120 python3 -m pip install --quiet --only-binary :all: \
            --disable-pip-version-check --target "wheel.$1" \
            "cryptography==$1" >pip.log 2>&1 ||
            skip "cryptography $1 can't be had: $(tail -n 1 pip.log)"
        mkdir -p "$BUILD_DIR/wheels"
        mv "wheel.$1" "$into" || [ -d "$into" ]
    }
    echo "$into"
}

configure auto.cnf "$MODULE" engine="$ENGINE"
while read -r version openssl; do
    path=$(wheel "$version") || { echo "$path" && exit 77; }
    for config in openssl.cnf auto.cnf; do
        rm -f wheel.trace
        PYTHONPATH=$path OPENSSL_CONF=$config \
            WARPRSA_TRACE=file:$work/wheel.trace python3 use.py >use.log ||
            fail "cryptography $version, $config: exit status $?"
        grep -q "^OpenSSL $openssl\." use.log ||
            fail "cryptography $version has $(cat use.log)"
        grep -q 'provider loaded; the caller has another libcrypto' wheel.trace
        expect_counters wheel.trace cpu_error=0 checks_failed=0
        [ $config = auto.cnf ] || expect_counters wheel.trace gpu=4 cpu=0
    done
done <<END
42.0.8 3.2
46.0.3 3.5
50.0.2 4.0
END
