#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 that breaks its own rules, against warprsad-gateway: each case opens a
connection, sends what RFC 9113 forbids, or more than anyone needs, and expects
the connection to end or the stream to be reset.

    remote_frames.py ADDRESS CA CERTIFICATE KEY

Frames are made by python3-h2's hyperframe and hpack where these can make wrong
ones, else byte by byte. Prints the cases and what came of each.
"""
import socket
import ssl
import struct
import sys
import time

from hpack import Encoder
from hyperframe.frame import (DataFrame, Frame, GoAwayFrame, HeadersFrame,
                              PingFrame, RstStreamFrame, SettingsFrame,
                              WindowUpdateFrame)

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, MORE = (
    range(10))
HEAD = [(":method", "POST"), (":scheme", "https"),
        (":path", "/grpc.health.v1.Health/Watch"),
        (":authority", "gpu.example.org"),
        ("content-type", "application/grpc"), ("te", "trailers")]
WAIT = 30  # seconds; a good machine needs a thousandth


def frame(kind, stream, body=b"", flags=0):
    return (struct.pack(">I", len(body))[1:] + bytes([kind, flags]) +
            struct.pack(">I", stream) + body)


def head(stream, fields=None, end=True, encoder=None):
    f = HeadersFrame(stream)
    f.data = (encoder or Encoder()).encode(fields or HEAD)
    f.flags.add("END_HEADERS")
    if end:
        f.flags.add("END_STREAM")
    return f.serialize()


class Connection:
    def __init__(self, address, files, preface=PREFACE):
        host, port = address.rsplit(":", 1)
        context = ssl.create_default_context(cafile=files[0])
        context.check_hostname = False
        context.load_cert_chain(files[1], files[2])
        context.set_alpn_protocols(["h2"])
        plain = socket.create_connection((host, int(port)), WAIT)
        self.socket = context.wrap_socket(plain)
        assert self.socket.selected_alpn_protocol() == "h2"
        self.bytes = b""
        self.socket.sendall(preface + SettingsFrame(0).serialize())

    def frames(self):
        """Frames until the connection ends or nothing comes for WAIT."""
        while True:
            while len(self.bytes) >= 9:
                f, size = Frame.parse_frame_header(
                    memoryview(self.bytes[:9]))
                if len(self.bytes) < 9 + size:
                    break
                f.parse_body(memoryview(self.bytes[9:9 + size]))
                self.bytes = self.bytes[9 + size:]
                yield f
            more = self.socket.recv(65536)
            if not more:
                return
            self.bytes += more

    def outcome(self):
        """How the server takes what was sent; None: it has not noticed."""
        try:
            for f in self.frames():
                if isinstance(f, GoAwayFrame) and f.error_code != 0:
                    return f"GOAWAY {f.error_code}"
                if isinstance(f, RstStreamFrame) and f.error_code != 0:
                    return f"RST_STREAM {f.error_code}"
                if isinstance(f, HeadersFrame) and "END_STREAM" in f.flags:
                    return "answered"
                if isinstance(f, PingFrame) and "ACK" not in f.flags:
                    return None  # nothing happened for 10 s
        except socket.timeout:
            return None
        except OSError:
            pass
        return "closed"

    def flood(self, piece, count):
        """Sends without reading, until the server has had enough. True: it has;
        False: it took all."""
        self.socket.settimeout(2)
        end = time.monotonic() + WAIT
        try:
            for _ in range(count):
                self.socket.sendall(piece)
                if time.monotonic() > end:
                    break
        except OSError:
            return True
        self.socket.settimeout(WAIT)
        return False


GOOD = head(1, end=False)
LONG_HEAD = HEAD + [(f"x-{i}", "x" * 4000) for i in range(30)]


def padded():
    return frame(DATA, 1, b"\xff" + b"x" * 9, 0x8)


WRONG = {
    "6.1 DATA on stream 0": frame(DATA, 0, b"x"),
    "5.1 DATA on an idle stream": frame(DATA, 7, b"x"),
    "6.1 padding longer than the frame": GOOD + padded(),
    "4.2 a frame longer than 16,384 bytes": GOOD + frame(DATA, 1, b"x" * 16385),
    "6.2 HEADERS on stream 0": frame(HEADERS, 0, b"\x88", 0x4),
    "5.1.1 HEADERS on an even stream": head(2),
    "5.1 HEADERS on a stream that has ended": head(1) + head(1),
    "6.3 PRIORITY of 4 bytes": frame(PRIORITY, 3, b"\0" * 4),
    "6.4 RST_STREAM on an idle stream": frame(RST, 9, b"\0\0\0\x08"),
    "6.4 RST_STREAM of 3 bytes": GOOD + frame(RST, 1, b"\0" * 3),
    "6.5 SETTINGS of 5 bytes": frame(SETTINGS, 0, b"\0" * 5),
    "6.5 SETTINGS on a stream": frame(SETTINGS, 1),
    "6.5 SETTINGS ACK that is not empty": frame(SETTINGS, 0, b"\0" * 6, 1),
    "6.5.2 ENABLE_PUSH of 2": frame(SETTINGS, 0, b"\0\2\0\0\0\2"),
    "6.5.2 a window of 2^31": frame(SETTINGS, 0, b"\0\4\x80\0\0\0"),
    "6.5.2 frames of 1 byte": frame(SETTINGS, 0, b"\0\5\0\0\0\1"),
    "8.4 PUSH_PROMISE of a client": GOOD + frame(PUSH, 1, b"\0\0\0\2\x88", 4),
    "6.7 PING of 7 bytes": frame(PING, 0, b"\0" * 7),
    "6.7 PING on a stream": frame(PING, 1, b"\0" * 8),
    "6.8 GOAWAY on a stream": frame(GOAWAY, 1, b"\0" * 8),
    "6.9 WINDOW_UPDATE of 0": frame(WINDOW, 0, b"\0" * 4),
    "6.9.1 a connection's window beyond 2^31": frame(
        WINDOW, 0, b"\x7f\xff\xff\xff") * 2,
    "6.9.1 a stream's window beyond 2^31": GOOD + frame(
        WINDOW, 1, b"\x7f\xff\xff\xff") * 2,
    "6.9 WINDOW_UPDATE of 3 bytes": frame(WINDOW, 0, b"\0" * 3),
    "6.10 CONTINUATION without HEADERS": GOOD + frame(MORE, 1, b"\x88", 4),
    "6.10 another frame within a head": frame(HEADERS, 1, b"\x88") + frame(
        PING, 0, b"\0" * 8),
    "4.3 a head that HPACK can't read": frame(HEADERS, 1, b"\xff" * 9, 0x5),
    "4.3 a table of HPACK larger than agreed": frame(
        HEADERS, 1, b"\x3f\xe1\xff\x03\x88", 0x5),
    "8.2.1 a name in upper case": head(1, HEAD + [("X-UPPER", "x")]),
    "8.2.2 a header of the connection": head(1, HEAD + [("connection", "x")]),
    "8.3 no :path": head(1, [h for h in HEAD if h[0] != ":path"]),
    "8.3 two paths": head(1, [(":path", "/a")] + HEAD),
    "8.3 an unknown pseudo-header": head(1, [(":odd", "x")] + HEAD),
    "8.3 a pseudo-header behind others": head(1, HEAD[1:] + HEAD[:1]),
    "8.1.1 less than content-length": head(
        1, HEAD + [("content-length", "9")], False) + frame(DATA, 1, b"x", 1),
}


def resets(c):
    """Streams that are reset at once (CVE-2023-44487)."""
    encoder = Encoder()
    pieces = (head(s, end=False, encoder=encoder) +
              RstStreamFrame(s, error_code=8).serialize()
              for s in range(1, 60001, 2))
    c.socket.settimeout(2)
    try:
        for piece in pieces:
            c.socket.sendall(piece)
    except OSError:
        return True
    c.socket.settimeout(WAIT)
    return False


def streams(c):
    """More at a time than are allowed: the server takes 8, and refuses."""
    encoder = Encoder()
    for s in range(1, 200, 2):
        c.socket.sendall(head(s, end=False, encoder=encoder))
    return False


FLOODS = {
    "CONTINUATION without end (CVE-2024-28182)": lambda c: (
        c.socket.sendall(frame(HEADERS, 1, b"\0\1a\1b")) or
        c.flood(frame(MORE, 1, b"\0\1a\1b" * 100), 20000)),
    "CONTINUATION without content": lambda c: (
        c.socket.sendall(frame(HEADERS, 1, b"\0\1a\1b")) or
        c.flood(frame(MORE, 1), 200000)),
    "a head of 120,000 bytes": lambda c: (
        c.socket.sendall(long_head()) and False),
    "streams reset at once (CVE-2023-44487)": resets,
    "a hundred streams": streams,
    "PING, answers not read (CVE-2019-9512)": lambda c: c.flood(
        PingFrame(0, opaque_data=b"x" * 8).serialize() * 100, 20000),
    "SETTINGS, answers not read (CVE-2019-9515)": lambda c: c.flood(
        frame(SETTINGS, 0, b"\0\3\0\0\0\1") * 100, 20000),
}


def long_head():
    block = Encoder().encode(LONG_HEAD, huffman=False)
    pieces = [block[i:i + 16384] for i in range(0, len(block), 16384)]
    out = frame(HEADERS, 1, pieces[0], 0x1)
    for i, piece in enumerate(pieces[1:]):
        out += frame(MORE, 1, piece, 4 if i == len(pieces) - 2 else 0)
    return out


def served(address, files):
    """A call as it should be, on a connection of its own."""
    c = Connection(address, files)
    message = DataFrame(1, b"\0\0\0\0\0")
    message.flags.add("END_STREAM")
    check = [h if h[0] != ":path" else (":path", "/grpc.health.v1.Health/Check")
             for h in HEAD]
    c.socket.sendall(head(1, check, end=False) +
                     WindowUpdateFrame(0, window_increment=1).serialize() +
                     message.serialize())
    for f in c.frames():
        if isinstance(f, DataFrame) and f.data == b"\0\0\0\0\2\x08\x01":
            c.socket.close()
            return
    raise AssertionError("an honest client is not served")


def main(address, *files):
    cases = []

    def case(name, send, wanted=("GOAWAY", "RST_STREAM", "closed"), **how):
        c = Connection(address, files, **how)
        outcome = "closed" if send(c) else c.outcome()
        cases.append((outcome or "nothing").startswith(wanted))
        print(f"{name}: {outcome}")
        c.socket.close()

    served(address, files)
    for name, wrong in WRONG.items():
        case(name, lambda c: c.socket.sendall(wrong))
    # RFC 9113 deprecates the frame. nghttp2 1.70 passes it over, and the call
    # behind it is answered; 1.64 and older end the connection.
    case("6.3 PRIORITY on stream 0", lambda c: c.socket.sendall(
        frame(PRIORITY, 0, b"\0" * 5) + head(1)), ("GOAWAY", "answered"))
    for name, flood in FLOODS.items():
        case(name, flood)
        served(address, files)
    case("3.4 no preface", lambda c: False, preface=b"GET / HTTP/1.1\r\n\r\n")
    case("a call without a message", lambda c: c.socket.sendall(head(1)),
         ("answered",))
    served(address, files)
    assert all(cases), f"{cases.count(False)} cases went through"
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main(*sys.argv[1:])
