#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client of warprsad-gateway that uses keys of the GPU host's vault. It is
made of warprsa.proto and gRPC's own library, checks results by Python's
cryptography, and prints how many uses had a result.

    remote_vault.py ADDRESS DIRECTORY CA CERTIFICATE KEY WHAT [ARGUMENT...]

As remote_client.py; DIRECTORY has NAME.pub for each key of the vault.
"""
import hashlib
import os
import sys

import grpc
import remote_client as client
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, utils
from cryptography.hazmat.primitives.serialization import (
    Encoding, PublicFormat, load_pem_public_key)

# DigestInfo without the hash (RFC 8017, 9.2).
HEADS = {
    "SHA256": "3031300d060960864801650304020105000420",
    "SHA384": "3041300d060960864801650304020205000430",
    "SHA512": "3051300d060960864801650304020305000440",
}
TEXT = b"to be signed"
SECRET = b"this text was encrypted for the vault, and for nobody else"


class Key:
    """A key of the vault, of which the client has the public half."""

    def __init__(self, name):
        path = os.path.join(directory, name + ".pub")
        self.public = load_pem_public_key(client.read(path))
        numbers = self.public.public_numbers()
        self.n, self.e = numbers.n, numbers.e
        self.size = (self.n.bit_length() + 7) // 8
        self.spki_sha256 = hashlib.sha256(self.public.public_bytes(
            Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()

    def number(self, i=7):
        return pow(i + 2, 5, self.n).to_bytes(self.size, "big")

    def raised(self, data):
        return pow(int.from_bytes(data, "big"), self.e, self.n).to_bytes(
            self.size, "big")


class Session(client.Session):
    """A call of Operate that uses keys of the vault."""

    def __init__(self, on):
        super().__init__(on)
        self.welcome = self.receive("welcome").welcome
        self.named = 0

    def name(self, spki_sha256, wanted=None):
        """Names a key; returns its number."""
        number = self.named
        self.named += 1
        request = pb.Request()
        request.load_key.key = number
        request.load_key.spki_sha256 = spki_sha256
        self.send(request)
        loaded = self.receive("key_loaded").key_loaded
        assert loaded.key == number
        assert loaded.status == (wanted or pb.STATUS_OK), loaded
        return number

    def use_all(self, uses):
        """(key, input, use) each, in messages of 256; returns the results."""
        results = {}
        for start in range(0, len(uses), 256):
            request = pb.Request()
            for i, (key, data, use) in enumerate(uses[start:start + 256]):
                request.operations.operation.add(id=start + i, key=key,
                                                 input=data, use=use)
            self.send(request)
        while len(results) < len(uses):
            for result in self.receive("results").results.result:
                assert result.id not in results, result
                results[result.id] = result
        return [results[i] for i in range(len(uses))]

    def use(self, key, data, use):
        return self.use_all([(key, data, use)])[0]


def digest(name):
    return pb.Digest.Value("DIGEST_" + name)


def hash_of(name):
    return hashlib.new(name, TEXT).digest()


def sign(form, name="NONE", **fields):
    return pb.Use(purpose=pb.PURPOSE_SIGN,
                  padding=pb.Padding.Value("PADDING_" + form),
                  digest=digest(name), **fields)


def decrypt(form, **fields):
    return pb.Use(purpose=pb.PURPOSE_DECRYPT,
                  padding=pb.Padding.Value("PADDING_" + form), **fields)


def pkcs1_input(name):
    return bytes.fromhex(HEADS[name]) + hash_of(name)


def pkcs1_sha256(key):
    return key, pkcs1_input("SHA256"), sign("PKCS1", "SHA256")


def is_done(result):
    assert result.status == pb.STATUS_OK, result
    assert result.denial == pb.DENIAL_NONE and not result.error, result
    return result.output


def is_invalid(result):
    assert result.status == pb.STATUS_INVALID, result
    assert result.output == b"" and result.denial == pb.DENIAL_NONE, result


def is_denied(result, why):
    assert result.status == pb.STATUS_DENIED, result
    assert result.denial == pb.Denial.Value("DENIAL_" + why), result
    assert result.output == b"" and not result.error, result


def verify(key, output, how, name):
    algorithm = getattr(hashes, name)()
    assert len(output) == key.size
    key.public.verify(output, hash_of(name), how, utils.Prehashed(algorithm))


def end(session):
    assert session.end() == grpc.StatusCode.OK


def check_pkcs1(session, key, number):
    for name in "SHA256", "SHA384":
        output = is_done(session.use(number, pkcs1_input(name),
                                     sign("PKCS1", name)))
        verify(key, output, padding.PKCS1v15(), name)
    try: # the control
        verify(key, output, padding.PKCS1v15(), "SHA256")
        raise AssertionError("any signature is verified")
    except InvalidSignature:
        pass
    return 2


def check_pss(session, key, number):
    most = key.size - 2 - 32
    salts = {0: 0, 20: 20, -1: 32, -3: most, -4: 32}
    for salt, bytes_of_salt in salts.items():
        use = sign("PSS", "SHA256", mgf1_digest=digest("SHA256"),
                   salt_bytes=salt)
        output = is_done(session.use(number, hash_of("SHA256"), use))
        verify(key, output, padding.PSS(padding.MGF1(hashes.SHA256()),
                                        bytes_of_salt), "SHA256")
    use = sign("PSS", "SHA256", mgf1_digest=digest("SHA384"), salt_bytes=-1)
    output = is_done(session.use(number, hash_of("SHA256"), use))
    verify(key, output, padding.PSS(padding.MGF1(hashes.SHA384()), 32),
           "SHA256")
    return len(salts) + 1


def check_oaep(session, key, number):
    cases = [("SHA1", "SHA1", b""), ("SHA256", "SHA1", b"a label"),
             ("SHA384", "SHA256", b"l" * 256)]
    for name, mgf1, label in cases:
        how = padding.OAEP(padding.MGF1(getattr(hashes, mgf1)()),
                           getattr(hashes, name)(), label or None)
        use = decrypt("OAEP", digest=digest(name), mgf1_digest=digest(mgf1),
                      label=label)
        for text in SECRET, b"":
            data = key.public.encrypt(text, how)
            assert is_done(session.use(number, data, use)) == text
        use.label = b"another"
        failed = session.use(number, data, use)
        is_invalid(failed)
        assert 1 <= len(failed.error) <= 4, failed
    return 2 * len(cases) # those that failed are not counted


def check_pkcs1_decryption(session, key, number):
    data = key.public.encrypt(SECRET, padding.PKCS1v15())
    assert is_done(session.use(number, data, decrypt("PKCS1"))) == SECRET
    return 1


def check_tls(session, key, number):
    secret = b"\3\3" + bytes(range(46))
    data = key.public.encrypt(secret, padding.PKCS1v15())
    for versions in (0x303, 0), (0x302, 0x303):
        use = decrypt("TLS", tls_client_version=versions[0],
                      tls_alternative_version=versions[1])
        assert is_done(session.use(number, data, use)) == secret
    # A wrong version or padding shows in nothing but the secret.
    for wrong, version in (data, 0x302), (key.number(), 0x303):
        use = decrypt("TLS", tls_client_version=version)
        other = is_done(session.use(number, wrong, use))
        assert len(other) == 48 and other != secret
    return 4


def check_raw(session, key, number):
    for use in sign("NONE"), decrypt("NONE"):
        output = is_done(session.use(number, key.number(), use))
        assert key.raised(output) == key.number()
    return 2


def do_uses(on, www, raw, primes):
    """Everything that the rules allow, and that it is right."""
    session, keys = Session(on), [Key(name) for name in (www, raw, primes)]
    numbers = [session.name(key.spki_sha256) for key in keys]
    uses = 0
    for check in (check_pkcs1, check_pss, check_oaep, check_pkcs1_decryption,
                  check_tls):
        uses += check(session, keys[0], numbers[0])
    uses += check_raw(session, keys[1], numbers[1])
    uses += check_pkcs1(session, keys[2], numbers[2])
    uses += check_pkcs1_decryption(session, keys[2], numbers[2])
    end(session)
    print(f"uses {uses}")


def do_batch(on, own, *names):
    """Batches of 256 with uses of several keys, and operations with a key of
    the client's own among them."""
    session, keys = Session(on), [Key(name) for name in names]
    numbers = [session.name(key.spki_sha256) for key in keys]
    private = client.numbers_of(own)
    assert session.load(100, private) == pb.STATUS_OK
    uses, count = [], 512
    for i in range(count):
        if i % 4 == 3:
            uses.append((100, client.input_of(private, i), None))
        else:
            uses.append(pkcs1_sha256(numbers[i % len(keys)]))
    for i, result in enumerate(session.use_all(uses)):
        output = is_done(result)
        if i % 4 == 3:
            client.check(private, i, (result.status, output))
        else:
            verify(keys[i % len(keys)], output, padding.PKCS1v15(), "SHA256")
    end(session)
    print(f"uses {count - count // 4}")


def do_denials(on, www, ca, theirs, paced):
    session = Session(on)
    www, ca, theirs, paced = [session.name(Key(name).spki_sha256)
                              for name in (www, ca, theirs, paced)]
    none = session.name(b"\0" * 32)
    number = b"\0" * 256
    sha512 = pkcs1_input("SHA512"), sign("PKCS1", "SHA512")
    is_denied(session.use(*pkcs1_sha256(none)), "NO_KEY")
    is_denied(session.use(*pkcs1_sha256(theirs)), "NO_KEY")
    is_denied(session.use(theirs, number, sign("NONE")), "NO_KEY")
    is_denied(session.use(ca, b"\0" * 384, decrypt("PKCS1")), "OPERATION")
    is_denied(session.use(www, number, sign("NONE")), "PADDING")
    is_denied(session.use(www, number, decrypt("NONE")), "PADDING")
    is_denied(session.use(www, *sha512), "DIGEST")
    is_denied(session.use(
        www, hash_of("SHA256"), sign("PSS", "SHA256", salt_bytes=-1,
                                     mgf1_digest=digest("SHA1"))), "DIGEST")
    allowed = 0
    for result in session.use_all([pkcs1_sha256(paced)] * 256):
        if result.status == pb.STATUS_OK:
            allowed += 1
        else:
            is_denied(result, "RATE")
    assert 1 <= allowed < 256, allowed
    assert is_done(session.use(*pkcs1_sha256(www)))
    end(session)
    print(f"uses {allowed + 1}")


def do_other(on, www, theirs):
    """Another identity has its own rules."""
    session, key = Session(on), Key(theirs)
    www, theirs = session.name(Key(www).spki_sha256), session.name(
        key.spki_sha256)
    is_denied(session.use(*pkcs1_sha256(www)), "NO_KEY")
    verify(key, is_done(session.use(*pkcs1_sha256(theirs))),
           padding.PKCS1v15(), "SHA256")
    end(session)
    print("uses 1")


def lies():
    """Uses of a key of 2048 bits that have a fault, with their inputs."""
    good = hash_of("SHA256"), sign("PSS", "SHA256", salt_bytes=-1,
                                   mgf1_digest=digest("SHA256"))
    for field, values in {
            "purpose": (0, 3, 255, 256, 257, 2**31 - 1, -1),
            "padding": (0, 4, 5, 6, 255, 258, 259, -1),
            "digest": (0, 15, 20, 255, 256, 262, -1),
            "mgf1_digest": (0, 20, 255, 256, 262, -1),
            "salt_bytes": (-5, -2**31, 2049, 2**31 - 1),
            "label": (b"l", b"l" * 256, b"l" * 257, b"l" * 65537),
            "tls_client_version": (1, 0x303, 65536, 2**32 - 1),
            "tls_alternative_version": (1, 0x303, 65536, 2**32 - 1)}.items():
        for value in values:
            use = pb.Use()
            use.CopyFrom(good[1])
            setattr(use, field, value)
            yield good[0], use
    for size in 0, 1, 31, 33, 256, 2048:
        yield b"\1" * size, good[1]
    for form in decrypt("PKCS1"), sign("NONE"), decrypt("NONE"):
        for size in 0, 1, 255, 257, 2048:
            yield b"\0" * size, form
        for field in "digest", "mgf1_digest", "salt_bytes":
            use = pb.Use()
            use.CopyFrom(form)
            setattr(use, field, 1)
            yield b"\0" * 256, use
    yield b"\1" * 257, sign("PKCS1", "SHA256")
    yield b"\0" * 256, decrypt("OAEP", digest=digest("SHA1"))
    yield b"\0" * 256, decrypt("PSS", digest=digest("SHA1"),
                               mgf1_digest=digest("SHA1"))
    yield b"\0" * 256, pb.Use()


def do_lies(on, own, www, ca):
    """Each is INVALID; none of them ends the session, is a use, or is
    denied."""
    session, private = Session(on), client.numbers_of(own)
    number = session.name(Key(www).spki_sha256)
    assert session.load(100, private) == pb.STATUS_OK
    tried = [(number, data, use) for data, use in lies()]
    for result in session.use_all(tried):
        is_invalid(result)
    # A use is for keys of the vault alone, and they are for nothing else.
    data = client.input_of(private, 1)
    is_invalid(session.use(number, data, None))
    is_invalid(session.use(100, data, decrypt("NONE")))
    is_invalid(session.use(77, data, decrypt("NONE")))
    # The longest message; the inputs are too long for this key.
    longest = decrypt("OAEP", digest=digest("SHA1"), label=b"l" * 256,
                      mgf1_digest=digest("SHA1"))
    for result in session.use_all([(number, b"\1" * 2048, longest)] * 256):
        is_invalid(result)
    # A signature of what is no DigestInfo of the digest.
    failed = session.use(session.name(Key(ca).spki_sha256), b"\1" * 51,
                         sign("PKCS1", "SHA256"))
    is_invalid(failed)
    assert is_done(session.use(*pkcs1_sha256(number)))
    end(session)
    client.ends(on, b"\x1a\x06\x0a\x04\x2a\x02\x0a\x00", "a malformed operation")
    client.ends(on, b"\x1a\x06\x0a\x04\x2a\x00\x2a\x00", "a malformed operation")
    request = pb.Request()
    request.operations.operation.add(input=b"\1" * 2049, use=decrypt("NONE"))
    client.ends(on, request, "a malformed operation")
    request = pb.Request()
    request.load_key.spki_sha256 = b"\0" * 31
    client.ends(on, request, "spki_sha256 must have 32 bytes")
    print("uses 1")


def do_removed(on, name):
    """Uses a key before the vault removes it, and after that. The text that was
    decrypted last is gone from the gateway meanwhile."""
    session, key = Session(on), Key(name)
    number = session.name(key.spki_sha256)
    data = key.public.encrypt(SECRET, padding.PKCS1v15())
    assert is_done(session.use(number, data, decrypt("PKCS1"))) == SECRET
    print("used", flush=True)
    sys.stdin.readline()
    is_denied(session.use(number, data, decrypt("PKCS1")), "NO_KEY")
    is_denied(session.use(session.name(key.spki_sha256), data,
                          decrypt("PKCS1")), "NO_KEY")
    end(session)
    print("denied")


def do_back(on, name):
    """Uses a key that comes back to the vault during the session."""
    session, key = Session(on), Key(name)
    number = session.name(key.spki_sha256)
    is_denied(session.use(*pkcs1_sha256(number)), "NO_KEY")
    print("denied", flush=True)
    sys.stdin.readline()
    verify(key, is_done(session.use(*pkcs1_sha256(number))),
           padding.PKCS1v15(), "SHA256")
    end(session)
    print("uses 1")


def do_none(on, name, own):
    """The server's warprsad has no vault; it serves clients' own keys."""
    session = Session(on)
    number = session.name(Key(name).spki_sha256, pb.STATUS_UNSUPPORTED)
    result = session.use(*pkcs1_sha256(number))
    assert result.status == pb.STATUS_UNSUPPORTED, result
    private = client.numbers_of(own)
    assert session.load(100, private) == pb.STATUS_OK
    output = is_done(session.use(100, client.input_of(private, 1), None))
    client.check(private, 1, (pb.STATUS_OK, output))
    end(session)
    print("no vault")


if __name__ == "__main__":
    target, directory, *files, what = sys.argv[1:7]
    sys.path.insert(0, directory)
    import warprsa_pb2 as pb
    client.pb = pb
    with client.channel(target, *files) as made:
        globals()["do_" + what](made, *sys.argv[7:])
