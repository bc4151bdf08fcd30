# SPDX-License-Identifier: Apache-2.0
"""The test vectors of RFC 9474 for the tests of blind signatures.

    blind_rsa.py VECTORS key         prints the key, for openssl asn1parse
                                     -genconf
    blind_rsa.py VECTORS messages DIRECTORY
        writes NUMBER.blinded for each vector
    blind_rsa.py VECTORS unblind DIRECTORY
        NUMBER.signed must be what the RFC has; writes NUMBER.sig, the signature
        that the client then has, and NUMBER.message
    blind_rsa.py VECTORS many COUNT OUTPUT
        writes so many blinded messages, those of the vectors at first and then
        random numbers
    blind_rsa.py VECTORS signed BLINDED SIGNED
        each of these must have its signature
"""
import pathlib
import re
import secrets
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


def many(key, vectors, count, output):
    """Blinded messages one after the other: any numbers below the modulus."""
    n = int(key["n"], 16)
    size = (n.bit_length() + 7) // 8
    messages = [bytes.fromhex(vector["blinded_msg"]) for vector in vectors]
    messages += [secrets.randbelow(n).to_bytes(size, "big")
                 for _ in range(count - len(messages))]
    pathlib.Path(output).write_bytes(b"".join(messages))


def signed(key, vectors, paths):
    """What the public key makes of each signature is its blinded message."""
    n, e = (int(key[name], 16) for name in "ne")
    size = (n.bit_length() + 7) // 8
    blinded, signatures = (pathlib.Path(path).read_bytes() for path in paths)
    if len(blinded) != len(signatures):
        raise SystemExit(f"{len(signatures)} bytes, not {len(blinded)}")
    for i in range(0, len(blinded), size):
        signature = int.from_bytes(signatures[i:i + size], "big")
        if pow(signature, e, n).to_bytes(size, "big") != blinded[i:i + size]:
            raise SystemExit(f"message {i // size}: a wrong signature")
    rfc = bytes.fromhex("".join(vector["blind_sig"] for vector in vectors))
    if not signatures.startswith(rfc):
        raise SystemExit("other signatures than the RFC's")


def main():
    """Does what the command line says."""
    key, vectors = read(sys.argv[1])
    if len(vectors) != 4:
        raise SystemExit(f"{len(vectors)} vectors")
    if sys.argv[2] == "key":
        print_key(key)
        return
    if sys.argv[2] == "many":
        many(key, vectors, int(sys.argv[3]), sys.argv[4])
        return
    if sys.argv[2] == "signed":
        signed(key, vectors, sys.argv[3:5])
        return
    for i, vector in enumerate(vectors):
        path = pathlib.Path(sys.argv[3]) / f"{i}.blinded"
        if sys.argv[2] == "messages":
            path.write_bytes(bytes.fromhex(vector["blinded_msg"]))
        else:
            unblind(key, vector, path)


main()
