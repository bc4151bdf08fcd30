#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server that is made of warprsa.proto and gRPC's own library alone, for the
host that uses it to be tested with. It computes by Python's integers.

    remote_server.py DIRECTORY CA CERTIFICATE KEY HOW

DIRECTORY has warprsa_pb2.py. It prints its port. HOW it computes: "right";
"wrong", from the fifth key of a session on, so that known answers are right; or
"never", which answers nothing from that key on.
"""
import concurrent.futures
import sys

import grpc


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Server(grpc.GenericRpcHandler):
    def service(self, details):
        if details.method != "/warprsa.v1.PrivateOperations/Operate":
            return None
        return grpc.stream_stream_rpc_method_handler(
            self.operate, request_deserializer=pb.Request.FromString,
            response_serializer=pb.Response.SerializeToString)

    def operate(self, requests, _):
        keys = {}
        yield pb.Response(welcome=pb.Welcome(
            keys_max=64, operations_max=100, batch_max=256, deadline_ms=1000))
        for request in requests:
            kind = request.WhichOneof("kind")
            if kind == "load_key":
                number = request.load_key.key
                keys[number] = request.load_key.private_key
                yield pb.Response(key_loaded=pb.KeyLoaded(key=number))
            elif kind == "unload_key":
                del keys[request.unload_key.key]
            else:
                results = [self.compute(o, keys)
                           for o in request.operations.operation]
                results = [r for r in results if r is not None]
                if results:
                    yield pb.Response(results=pb.Results(result=results))

    @staticmethod
    def compute(operation, keys):
        key = keys[operation.key]
        n, e, p, q = (int.from_bytes(x, "big")
                      for x in (key.n, key.e, key.p, key.q))
        value = pow(int.from_bytes(operation.input, "big"),
                    pow(e, -1, (p - 1) * (q - 1)), n)
        if operation.key >= 4 and how == "never":
            return None
        if operation.key >= 4 and how == "wrong":
            value ^= 1
        return pb.Result(id=operation.id, output=value.to_bytes(
            len(operation.input), "big"))


if __name__ == "__main__":
    directory, ca, certificate, private_key, how = sys.argv[1:]
    sys.path.insert(0, directory)
    import warprsa_pb2 as pb
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers([Server()])
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials(
        [(read(private_key), read(certificate))], read(ca), True))
    server.start()
    print(port, flush=True)
    server.wait_for_termination()
