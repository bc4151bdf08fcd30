#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Floods against warprsad-gateway, beside an honest host that must be served:

    remote_floods.py ADDRESS PID CA NAME HONEST WHAT

PID: the serving process, whose memory is looked at; for calls warprsad's. NAME,
HONEST: of the certificate and key (NAME.pem, NAME.key) with which to flood, and
of the honest host's. WHAT:

  resets   a client that acknowledges no SETTINGS and reads nothing has the
           server queue a RST_STREAM for each of a million HEADERS
  silence  TCP connections from another address, in which nothing happens,
           again and again
  noise    calls that are refused, each worth a line of the log
  keys     eight calls that bring keys and take them away again
  calls    calls that end while warprsad, which is stopped, has no session for them
"""
import os
import secrets
import signal
import socket
import sys
import threading

import remote_frames
from remote_frames import (DATA, HEAD, HEADERS, PING, RST, WINDOW, Connection,
                           frame, head, served)

MORE_KIB = 24576  # that an allocator may keep, and a connection may cost


def memory(pid):
    """Resident memory in KiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    raise AssertionError("no VmRSS")


def resets(address, pid, files, honest):
    before = memory(pid)
    c = Connection(address, files)
    # As many as there may be, which are never closed, then those beyond.
    for stream in range(1, 16, 2):
        c.socket.sendall(head(stream, end=False))
    c.socket.settimeout(2)
    sent, stream = 0, 17
    try:
        while sent < 1_000_000:
            c.socket.sendall(b"".join(
                frame(HEADERS, stream + 2 * i, b"\x83", 4)
                for i in range(1000)))
            sent += 1000
            stream += 2000
    except OSError:
        pass
    served(address, honest)
    more = memory(pid) - before
    print(f"resets: {sent} HEADERS sent, {more} KiB more")
    assert more < MORE_KIB, "the server keeps what the client does not read"
    c.socket.close()


def silence(address, pid, files, honest):
    host, port = address.rsplit(":", 1)
    before = memory(pid)
    enough = threading.Event()
    opened = []

    def flood():
        held = []
        while not enough.is_set():
            try:
                held.append(socket.create_connection(
                    (host, int(port)), 5, ("127.0.0.9", 0)))
                opened.append(1)
            except OSError:
                pass
            if len(held) > 400:
                held.pop(0).close()

    flooding = threading.Thread(target=flood)
    flooding.start()
    try:
        # More than all seats and places together.
        while len(opened) < 1200:
            enough.wait(0.01)
        for _ in range(20):
            served(address, honest)
    finally:
        enough.set()
        flooding.join()
    more = memory(pid) - before
    print(f"silence: {len(opened)} connections, {more} KiB more")
    assert more < 2 * MORE_KIB, "connections cost too much"


def noise(address, pid, files, honest):
    c = Connection(address, files)
    refused = 0
    for stream in range(1, 1001, 2):
        c.socket.sendall(head(stream))
        if stream % 16 == 15:
            refused += sum(1 for _ in zip(range(8), (
                f for f in c.frames() if "END_STREAM" in f.flags)))
    c.socket.close()
    print(f"noise: {refused} calls were refused")
    for _ in range(8):
        served(address, honest)


def field(number, value):
    """A field of a message of warprsa.proto."""
    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(body):
    return b"\0" + len(body).to_bytes(4, "big") + body


def made_up_key():
    """Numbers of the right lengths, of which e and d have nothing in common."""
    while True:
        p, q, dp, dq = (secrets.randbits(1024) | 1 | 3 << 1022
                        for _ in range(4))
        try:
            numbers = p * q, 65537, p, q, dp, dq, pow(q, -1, p)
        except ValueError:
            continue
        return b"".join(field(i + 1, n.to_bytes((n.bit_length() + 7) // 8, "big"))
                        for i, n in enumerate(numbers))


OPERATE = [(n, "/warprsa.v1.PrivateOperations/Operate" if n == ":path" else v)
           for n, v in HEAD]


def bring_keys(address, files, count):
    """A call that loads and unloads as many, as fast as they are taken."""
    c = Connection(address, files)
    load = message(field(1, field(1, 1) + field(2, made_up_key())))
    pair = load + message(field(2, field(1, 1)))
    c.socket.sendall(frame(WINDOW, 0, b"\x70\0\0\0") +
                     head(1, OPERATE, end=False))
    frames = c.frames()
    # What the stream may send: 1 MiB, and what is given back of it.
    room = 1 << 20
    for _ in range(count // 12):
        body = pair * 12
        while room < len(body):
            f = next(frames)
            if f.type == WINDOW and f.stream_id == 1:
                room += f.window_increment
        c.socket.sendall(frame(DATA, 1, body[:16000]) +
                         frame(DATA, 1, body[16000:]))
        room -= len(body)
    c.socket.close()


def keys(address, pid, files, honest):
    before = memory(pid)
    flooding = [threading.Thread(target=bring_keys, args=(address, files, 3000))
                for _ in range(8)]
    for one in flooding:
        one.start()
    for _ in range(20):
        served(address, honest)
    for one in flooding:
        one.join()
    more = memory(pid) - before
    print(f"keys: {8 * 3000} keys came and went, {more} KiB more")
    assert more < 2 * MORE_KIB, "keys that are gone cost memory"


def begin_call(c, stream, more=b""):
    """Begins a call of Operate, and says what has come of it once the server
    has answered two PINGs: it may answer the first one before the call."""
    ping = frame(PING, 0, b"x" * 8)
    answered = 0
    c.socket.sendall(head(stream, OPERATE, end=False) + more + ping)
    for f in c.frames():
        if f.stream_id == stream and f.type == DATA:
            return "session"
        if f.stream_id == stream and "END_STREAM" in f.flags:
            return "refused"
        if f.type == PING and "ACK" in f.flags:
            answered += 1
            if answered == 2:
                return "waits"
            c.socket.sendall(ping)
    raise AssertionError("the connection has ended")


def calls(address, pid, files, honest):
    c = Connection(address, files)
    reset = (8).to_bytes(4, "big")
    os.kill(pid, signal.SIGSTOP)
    try:
        for stream in range(1, 17, 2):
            begin_call(c, stream, frame(RST, stream, reset))
        outcome = begin_call(c, 17)
    finally:
        os.kill(pid, signal.SIGCONT)
    print(f"calls: eight have ended, and another one: {outcome}")
    assert outcome == "refused", "calls that have ended are not counted"
    c.socket.close()
    served(address, honest)


if __name__ == "__main__":
    where, process, ca, name, other, what = sys.argv[1:]
    remote_frames.WAIT = 60
    globals()[what](where, int(process), (ca, name + ".pem", name + ".key"),
                    (ca, other + ".pem", other + ".key"))
