#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# osslsigncode signs a Windows program by a key of the daemon. It loads the
# module by libp11's engine. The recipe of doc/pkcs11.md.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/pkcs11_programs.sh"

need osslsigncode
libp11=$(dirname "$(find /usr/lib -name libcrypto.so.3 -print -quit)")
libp11=$libp11/engines-3/pkcs11.so
[ -e "$libp11" ] || skip "no libengine-pkcs11-openssl here"
start_token "sign padding=pkcs1 digest=sha256"

# The least that is a program: headers of PE32+ and one section of zeros.
python3 - >program.exe <<'END'
import struct
import sys

head = b"MZ" + bytes(58) + struct.pack("<I", 64)
coff = b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 240, 0x22)
optional = struct.pack("<HBBIIIII", 0x20B, 14, 0, 512, 0, 0, 0x1000, 0x1000)
optional += struct.pack("<QIIHHHHHHIIIIHH", 0x140000000, 0x1000, 512, 6, 0,
                        0, 0, 6, 0, 0, 0x2000, 512, 0, 3, 0)
optional += struct.pack("<QQQQII", 1 << 20, 4096, 1 << 20, 4096, 0, 16)
optional += bytes(128)
section = b".text\0\0\0" + struct.pack("<IIIIIIHHI", 512, 0x1000, 512, 512, 0,
                                       0, 0, 0, 0x60000020)
image = head + coff + optional + section
sys.stdout.buffer.write(image + bytes(512 - len(image)) + bytes(512))
END
sign() {
    osslsigncode sign -pkcs11engine "$libp11" -pkcs11module "$PKCS11" \
        -key 'pkcs11:token=warprsa;object=www;type=private' -certs www.crt \
        -h sha256 -in program.exe -out signed.exe >sign.log 2>&1 ||
        fail "$(cat sign.log)"
}
uses 1 sign
unset WARPRSA_SOCKET
osslsigncode verify -CAfile ca.pem -ignore-timestamp -in signed.exe \
    >verify.log 2>&1 || grep -q 'Signature verification: ok' verify.log ||
    fail "$(cat verify.log)"
