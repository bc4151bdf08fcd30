#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Floods against warprsad-gateway, beside an honest host that must be served:

    remote_floods.py ADDRESS PID CA NAME HONEST WHAT

PID: the serving process, whose memory is looked at. NAME, HONEST: of the
certificate and key (NAME.pem, NAME.key) with which to flood, and of the honest
host's. WHAT:

  resets   a client that acknowledges no SETTINGS and reads nothing has the
           server queue a RST_STREAM for each of a million HEADERS
  silence  TCP connections from another address, in which nothing happens,
           again and again
  noise    calls that are refused, each worth a line of the log
"""
import socket
import sys
import threading

import remote_frames
from remote_frames import HEADERS, Connection, frame, head, served

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


if __name__ == "__main__":
    where, process, ca, name, other, what = sys.argv[1:]
    remote_frames.WAIT = 60
    globals()[what](where, int(process), (ca, name + ".pem", name + ".key"),
                    (ca, other + ".pem", other + ".key"))
