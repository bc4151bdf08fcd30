#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A TCP relay that delays, throttles, holds and cuts, where the kernel has no
netem. It cannot lose packets: what TCP does about that is the kernel's affair.

    relay.py TARGET-PORT [DELAY-MS]

Prints the port of 127.0.0.1 that it listens on, and then obeys what it reads:

    delay MS   what comes from now on arrives so much later, each way
    rate N     bytes a second, each way; 0: as many as there are
    hold       the connections that are there now: nothing passes any more, and
               neither side is told, not even of the other one's end
    cut        the connections that are there now are reset
"""
import asyncio
import sys

CHUNK = 65536
AHEAD = 64  # chunks under way in one direction

delay = 0.0
rate = 0
links = set()
held = set()


class Link:
    """The connection of a client, and ours to the target for it."""

    def __init__(self, *sides):
        self.writers = [writer for _, writer in sides]
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

    def hold(self):
        for task in self.tasks:
            task.cancel()

    def cut(self):
        self.hold()
        for writer in self.writers:
            writer.transport.abort()


async def obey():
    global delay, rate
    lines = asyncio.StreamReader()
    await asyncio.get_event_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async for line in lines:
        what, *number = line.decode().split()
        if what == "delay":
            delay = float(number[0]) / 1000
        elif what == "rate":
            rate = int(number[0])
        else:
            for link in links:
                getattr(link, what)()
            if what == "hold":
                held.update(links)  # else they would be closed
            links.clear()


async def main(target, ms=0):
    global delay
    delay = float(ms) / 1000

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
