#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A TCP relay that delays, throttles, loses, holds and cuts, where the kernel
has no netem. What it loses are packets that come in: a filter of its sockets
has the kernel drop them at random, data and acknowledgements, and TCP sends
them again. The delay is the relay's own: TCP does not see it.

    relay.py TARGET-PORT [DELAY-MS [LOSS-PERCENT]]

Prints the port of 127.0.0.1 that it listens on, and then obeys what it reads:

    delay MS   what comes from now on arrives so much later, each way
    rate N     bytes a second, each way; 0: as many as there are
    loss P     so many percent of the packets are lost, each way
    lost       prints "lost N": how many were, of the connections that are there
               now
    hold       the connections that are there now: nothing passes any more, and
               neither side is told, not even of the other one's end
    cut        the connections that are there now are reset
"""
import asyncio
import ctypes
import socket
import struct
import sys

CHUNK = 65536
AHEAD = 64  # chunks under way in one direction

delay = 0.0
rate = 0
loss = 0.0
links = set()
held = set()


# <asm-generic/socket.h> and <linux/sock_diag.h>.
SO_ATTACH_FILTER = 26
SO_MEMINFO = 55
MEMINFO_DROPS = 8


def lose(side):
    """Has a socket drop its share of what comes in. A filter is four
    instructions of <linux/filter.h>: load a random number (SKF_AD_RANDOM); from
    the share of 2^32 on go on, else skip one; keep; drop."""
    share = min(int(loss / 100 * 2**32), 2**32 - 1)
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in (
        (0x20, 0, 0, 2**32 - 0x1000 + 56), (0x35, 0, 1, share),
        (0x06, 0, 0, 2**32 - 1), (0x06, 0, 0, 0)))
    buffer = ctypes.create_string_buffer(code, len(code))
    side.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                    struct.pack("HP", 4, ctypes.addressof(buffer)))


def lost(side):
    """How many packets a socket has dropped."""
    return struct.unpack("9I", side.getsockopt(
        socket.SOL_SOCKET, SO_MEMINFO, 36))[MEMINFO_DROPS]


class Link:
    """The connection of a client, and ours to the target for it."""

    def __init__(self, *sides):
        self.writers = [writer for _, writer in sides]
        self.lose()
        (r0, w0), (r1, w1) = sides
        self.tasks = [asyncio.ensure_future(t) for t in (
            *self.way(r0, w1), *self.way(r1, w0))]

    def way(self, reader, writer):
        chunks = asyncio.Queue(AHEAD)
        return self.take(reader, chunks), self.give(chunks, writer)

    async def take(self, reader, chunks):
        data = b"more"
        while data:
            try:
                data = await reader.read(CHUNK)
            except OSError:
                data = b""
            await chunks.put((asyncio.get_event_loop().time() + delay, data))

    async def give(self, chunks, writer):
        loop = asyncio.get_event_loop()
        while True:
            due, data = await chunks.get()
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            if not data:
                break
            writer.write(data)
            await writer.drain()
            if rate:
                await asyncio.sleep(len(data) / rate)
        writer.close()

    def sockets(self):
        return [writer.get_extra_info("socket") for writer in self.writers
                if not writer.transport.is_closing()]

    def lose(self):
        for side in self.sockets():
            lose(side)

    def lost(self):
        return sum(lost(side) for side in self.sockets())

    def hold(self):
        for task in self.tasks:
            task.cancel()

    def cut(self):
        self.hold()
        for writer in self.writers:
            writer.transport.abort()


async def obey():
    global delay, rate, loss
    lines = asyncio.StreamReader()
    await asyncio.get_event_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async for line in lines:
        what, *number = line.decode().split()
        if what == "delay":
            delay = float(number[0]) / 1000
        elif what == "rate":
            rate = int(number[0])
        elif what == "loss":
            loss = float(number[0])
            for link in links:
                link.lose()
        elif what == "lost":
            print("lost", sum(link.lost() for link in links), flush=True)
        else:
            for link in links:
                getattr(link, what)()
            if what == "hold":
                held.update(links)  # else they would be closed
            links.clear()


async def main(target, ms=0, percent=0):
    global delay, loss
    delay = float(ms) / 1000
    loss = float(percent)

    async def accepted(*side):
        try:
            other = await asyncio.open_connection("127.0.0.1", int(target))
        except OSError:
            side[1].transport.abort()
            return
        links.add(Link(side, other))

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await obey()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
