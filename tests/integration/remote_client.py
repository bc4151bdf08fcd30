#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client of warprsad-gateway that is made of warprsa.proto and gRPC's own
library alone. It checks what the server does, and prints what it has done.

    remote_client.py ADDRESS DIRECTORY CA CERTIFICATE KEY WHAT [ARGUMENT...]

DIRECTORY has warprsa_pb2.py and health_pb2.py, as protoc makes them; CA,
CERTIFICATE and KEY are files. WHAT is a function do_WHAT() below.
"""
import queue
import sys
import time

import grpc

OPERATE = "/warprsa.v1.PrivateOperations/Operate"
HEALTH = "/grpc.health.v1.Health/"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def channel(address, ca, certificate, key):
    credentials = grpc.ssl_channel_credentials(
        read(ca), read(key) if key else None,
        read(certificate) if certificate else None)
    return grpc.secure_channel(address, credentials, [
        ("grpc.ssl_target_name_override", "gpu.example.org"),
        ("grpc.default_authority", "gpu.example.org")])


class Session:
    """A call of Operate."""

    def __init__(self, on):
        self.requests = queue.Queue()
        self.call = on.stream_stream(
            OPERATE, request_serializer=lambda m: m if isinstance(m, bytes)
            else m.SerializeToString(),
            response_deserializer=pb.Response.FromString)(
                iter(self.requests.get, None), timeout=60)

    def send(self, request):
        self.requests.put(request)

    def receive(self, kind=None):
        response = next(self.call)
        if kind is not None:
            assert response.WhichOneof("kind") == kind, response
        return response

    def load(self, number, private):
        """Loads a key; returns the status."""
        request = pb.Request()
        request.load_key.key = number
        to = request.load_key.private_key
        for name, value in private.items():
            setattr(to, name, value.to_bytes((value.bit_length() + 7) // 8,
                                             "big"))
        self.send(request)
        answer = self.receive("key_loaded").key_loaded
        assert answer.key == number
        return answer.status

    def operate(self, operations):
        """(id, key, input) each; returns {id: (status, output)}."""
        request = pb.Request()
        for number, key, data in operations:
            request.operations.operation.add(id=number, key=key, input=data)
        self.send(request)
        results = {}
        while len(results) < len(operations):
            for r in self.receive("results").results.result:
                assert r.id not in results
                results[r.id] = r.status, r.output
        return results

    def end(self):
        """Closes our side; returns the status of the call."""
        self.send(None)
        for _ in self.call:
            pass
        return self.call.code()


def numbers_of(path):
    """The numbers of a key in PEM, and the length of its modulus."""
    from cryptography.hazmat.primitives.serialization import (
        load_pem_private_key)
    k = load_pem_private_key(read(path), None).private_numbers()
    return {"n": k.public_numbers.n, "e": k.public_numbers.e, "p": k.p,
            "q": k.q, "dp": k.dmp1, "dq": k.dmq1, "qinv": k.iqmp}


def input_of(key, i):
    size = (key["n"].bit_length() + 7) // 8
    return pow(i + 2, 5, key["n"]).to_bytes(size, "big")


def check(key, i, result):
    status, output = result
    assert status == pb.STATUS_OK, (i, status)
    assert len(output) == len(input_of(key, i))
    assert pow(int.from_bytes(output, "big"), key["e"], key["n"]).to_bytes(
        len(output), "big") == input_of(key, i), i


def do_sign(on, path, count="20"):
    key, session = numbers_of(path), Session(on)
    welcome = session.receive("welcome").welcome
    assert welcome.batch_max == 256 and welcome.operations_max > 0
    assert session.load(3, key) == pb.STATUS_OK
    batch = [(i, 3, input_of(key, i)) for i in range(int(count))]
    for start in range(0, len(batch), 256):
        results = session.operate(batch[start:start + 256])
        for i, result in results.items():
            check(key, i, result)
    assert session.end() == grpc.StatusCode.OK
    print(f"signed {count}")


def do_errors(on, path):
    """What is refused without ending the session, then what ends it."""
    key, session = numbers_of(path), Session(on)
    session.receive("welcome")
    size = (key["n"].bit_length() + 7) // 8
    assert session.load(0, key) == pb.STATUS_OK
    assert session.load(1, dict(key, p=key["p"] + 1)) == pb.STATUS_UNSUPPORTED
    assert session.load(2, dict(key, p=1 << 2100)) == pb.STATUS_UNSUPPORTED
    request = pb.Request()
    request.load_key.key = 9
    request.load_key.spki_sha256 = b"x" * 32
    session.send(request)
    answer = session.receive("key_loaded").key_loaded
    assert answer.status == pb.STATUS_UNSUPPORTED
    good = input_of(key, 1)
    results = session.operate([
        (1, 0, good), (2, 1, good), (3, 7, good), (4, 0, good[1:]),
        (5, 0, key["n"].to_bytes(size, "big")), (6, 0, b"\xff" * size),
        (7, 2**32 - 1, good), (8, 0, b"\0" * size)])
    check(key, 1, results[1])
    assert [results[i][0] for i in range(2, 9)] == [
        pb.STATUS_UNSUPPORTED, pb.STATUS_INVALID, pb.STATUS_INVALID,
        pb.STATUS_INVALID, pb.STATUS_INVALID, pb.STATUS_INVALID,
        pb.STATUS_OK], results
    assert results[8][1] == b"\0" * size
    request = pb.Request()
    request.operations.operation.add(id=1, key=0, input=good,
                                     use=pb.Use(padding=1))
    session.send(request)
    assert session.receive().results.result[0].status == pb.STATUS_INVALID
    request = pb.Request()
    request.unload_key.key = 0
    session.send(request)
    assert session.operate([(1, 0, good)])[1][0] == pb.STATUS_INVALID
    assert session.end() == grpc.StatusCode.OK
    ends(on, b"\x12\x01", "malformed")
    ends(on, b"", "one known kind")
    ends(on, pb.Request(unload_key=pb.UnloadKey(key=5)), "no key")
    ends(on, pb.Request(load_key=pb.LoadKey(
        key=2**31, private_key=pb.RsaPrivateKey())), "not below keys_max")
    ends(on, b"\0" * 700000, "too long")
    print("errors as they should be")


def ends(on, request, text):
    """A message that ends the call."""
    session = Session(on)
    session.receive("welcome")
    session.send(request)
    try:
        session.receive()
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error
        assert text in error.details(), error
        session.send(None)
        return
    raise AssertionError(f"{text}: not refused")


def do_throttled(on, path):
    """With operations=8 rate=50 sessions=1."""
    key, session = numbers_of(path), Session(on)
    welcome = session.receive("welcome").welcome
    assert (welcome.operations_max, welcome.rate_max) == (8, 50)
    assert session.load(0, key) == pb.STATUS_OK
    results = session.operate([(i, 0, input_of(key, i)) for i in range(256)])
    throttled = [i for i, (status, _) in results.items()
                 if status == pb.STATUS_THROTTLED]
    assert 240 <= len(throttled) < 256, len(throttled)
    for i in set(results) - set(throttled):
        check(key, i, results[i])
    time.sleep(0.5)
    check(key, 1, session.operate([(1, 0, input_of(key, 1))])[1])
    second = Session(on)
    try:
        second.receive()
        raise AssertionError("a second session")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, error
    assert session.end() == grpc.StatusCode.OK
    print("throttled")


def do_health(on, wanted="SERVING"):
    check_it = on.unary_unary(
        HEALTH + "Check",
        request_serializer=health.HealthCheckRequest.SerializeToString,
        response_deserializer=health.HealthCheckResponse.FromString)
    for service in "", "warprsa.v1.PrivateOperations":
        answer = check_it(health.HealthCheckRequest(service=service),
                          timeout=30)
        status = health.HealthCheckResponse.ServingStatus.Name(answer.status)
        assert status == wanted, status
    try:
        check_it(health.HealthCheckRequest(service="other"), timeout=30)
        raise AssertionError("another service")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.NOT_FOUND, error
    watch = on.unary_stream(
        HEALTH + "Watch",
        request_serializer=health.HealthCheckRequest.SerializeToString,
        response_deserializer=health.HealthCheckResponse.FromString)
    watching = watch(health.HealthCheckRequest(), timeout=30)
    assert next(watching).status == answer.status
    watching.cancel()
    unknown = on.unary_unary("/a.b/C")
    try:
        unknown(b"", timeout=30)
        raise AssertionError("an unknown method")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNIMPLEMENTED, error
    print(f"health: {wanted}")


def do_configuration(on, wanted):
    """Waits until this is said of the last reload."""
    watch = on.unary_stream(
        HEALTH + "Watch",
        request_serializer=health.HealthCheckRequest.SerializeToString,
        response_deserializer=health.HealthCheckResponse.FromString)
    name = health.HealthCheckResponse.ServingStatus.Name
    for answer in watch(
            health.HealthCheckRequest(service="warprsa.configuration"),
            timeout=60):
        if name(answer.status) == wanted:
            break
    print(f"configuration: {wanted}")


def do_refused(on, code):
    """The call ends with this status."""
    try:
        Session(on).receive()
    except grpc.RpcError as error:
        assert error.code().name == code, error
        print(f"refused: {error.code().name}: {error.details()}")
        return
    raise AssertionError("not refused")


def do_stay(on, path, code, how="told"):
    """Operates until the server ends the call with this status. One that stops
    has told so before, unless it is `how` "gone"."""
    key, session, answered = numbers_of(path), Session(on), 0
    session.receive("welcome")
    assert session.load(0, key) == pb.STATUS_OK
    told = False
    try:
        while True:
            request = pb.Request()
            for i in range(8):
                request.operations.operation.add(id=i, key=0,
                                                 input=input_of(key, i))
            session.send(request)
            results = {}
            while len(results) < 8:
                response = session.receive()
                told = told or response.HasField("draining")
                for r in response.results.result:
                    results[r.id] = r.status, r.output
            for i, result in results.items():
                if result[0] != pb.STATUS_UNAVAILABLE:
                    check(key, i, result)
                    answered += 1
            if answered == 8:
                print("staying", flush=True)
    except grpc.RpcError as error:
        assert error.code().name == code, error
        assert told or code != "UNAVAILABLE" or how == "gone"
        session.send(None)
        print(f"ended after {answered}: {error.details()}")


def do_leave(on, path, code):
    """Closes its side with operations under way; the call ends with this
    status."""
    key, session = numbers_of(path), Session(on)
    session.receive("welcome")
    assert session.load(0, key) == pb.STATUS_OK
    check(key, 1, session.operate([(1, 0, input_of(key, 1))])[1])
    print("loaded", flush=True)
    sys.stdin.readline()
    request = pb.Request()
    request.operations.operation.add(id=1, key=0, input=input_of(key, 1))
    session.send(request)
    session.send(None)
    print("leaving", flush=True)
    came = []
    try:
        for response in session.call:
            came.append(response)
    except grpc.RpcError as error:
        assert error.code().name == code, error
        print(f"ended: {error.details()}")
        return
    raise AssertionError(f"not ended so, after {came}")


if __name__ == "__main__":
    target, directory, *files, what = sys.argv[1:7]
    sys.path.insert(0, directory)
    import health_pb2 as health
    import warprsa_pb2 as pb
    with channel(target, *files) as made:
        globals()["do_" + what](made, *sys.argv[7:])
