# SPDX-License-Identifier: Apache-2.0
"""The test vectors of RFC 9474 for the tests of blind signatures.

    blind_rsa.py VECTORS key         prints the key, for openssl asn1parse
                                     -genconf
    blind_rsa.py VECTORS messages DIRECTORY
        writes NUMBER.blinded for each vector
    blind_rsa.py VECTORS unblind DIRECTORY
        NUMBER.signed must be what the RFC has; writes NUMBER.sig, the signature
        that the client then has, and NUMBER.message
"""
import pathlib
import re
import sys


def read(path):
    """The key, and the vectors, as dictionaries of hexadecimal numbers."""
    sections = [{}]
    name = None
    for line in pathlib.Path(path).read_text(encoding="ascii").splitlines():
        named = re.fullmatch(r"(\w+) =(?: (.*))?", line)
        if line.startswith("#") or not line:
            continue
        if named:
            name = named[1]
            if name == "variant":
                sections.append({})
            sections[-1][name] = named[2] or ""
        else:
            sections[-1][name] += line
    return sections[0], sections[1:]


def print_key(key):
    """RSAPrivateKey (RFC 8017, A.1.2)."""
    p, q, n, e, d = (int(key[name], 16) for name in "pqned")
    print("asn1=SEQUENCE:key\n[key]")
    for i, number in enumerate((0, n, e, d, p, q, d % (p - 1), d % (q - 1),
                                pow(q, -1, p))):
        print(f"field{i}=INTEGER:0x{number:x}")


def unblind(key, vector, path):
    """Finalize() of RFC 9474, 4.4, but for the verification."""
    n = int(key["n"], 16)
    signed = path.with_suffix(".signed").read_bytes()
    if signed.hex() != vector["blind_sig"]:
        raise SystemExit(f"{vector['variant']}: another signature than the RFC")
    sig = int.from_bytes(signed, "big") * int(vector["inv"], 16) % n
    sig = sig.to_bytes(len(signed), "big")
    if sig.hex() != vector["sig"]:
        raise SystemExit(f"{vector['variant']}: it is not unblinded")
    path.with_suffix(".sig").write_bytes(sig)
    path.with_suffix(".message").write_bytes(
        bytes.fromhex(vector["prepared_msg"]))


def main():
    """Does what the command line says."""
    key, vectors = read(sys.argv[1])
    if len(vectors) != 4:
        raise SystemExit(f"{len(vectors)} vectors")
    if sys.argv[2] == "key":
        print_key(key)
        return
    for i, vector in enumerate(vectors):
        path = pathlib.Path(sys.argv[3]) / f"{i}.blinded"
        if sys.argv[2] == "messages":
            path.write_bytes(bytes.fromhex(vector["blinded_msg"]))
        else:
            unblind(key, vector, path)


main()
