#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks for the private numbers of an RSA key in the memory of processes.

    scan_memory.py KEY PROCESS...

KEY is a PEM file, or text=TEXT, to look for that. Prints a line for each number that a process has, with the
order of its bytes, and how much memory was read. Exit status 0: a number was
found, 1: none was, 2: the memory can't be read.
"""
import os
import re
import subprocess
import sys

# Twice 64 bits are enough to be sure, and each form of a number has them in
# its middle.
PIECE = 16
# Of a mapping: what is larger is a sanitizer's shadow.
MOST = 1 << 32


def numbers(path):
    """The name and the bytes of each private number of a key."""
    openssl = os.environ.get("OPENSSL", "openssl")
    text = subprocess.run([openssl, "pkey", "-in", path, "-noout", "-text"],
                          check=True, capture_output=True, text=True).stdout
    found = {}
    for name, digits in re.findall(r"^(\w+):\n((?: {4}.*\n)+)", text, re.M):
        if name in ("privateExponent", "prime1", "prime2", "exponent1",
                    "exponent2", "coefficient"):
            found[name] = bytes.fromhex(re.sub(r"[\s:]", "", digits))
    assert len(found) == 6, text
    return found


def pieces(path):
    """What to look for, and what it is."""
    if path.startswith("text="):
        yield path[5:].encode(), "the text"
        return
    for name, number in numbers(path).items():
        for order, data in (("big", number), ("little", number[::-1])):
            middle = len(data) // 2
            yield data[middle:middle + PIECE], f"{name}, {order}-endian"


def memory(pid):
    """Each readable mapping of a process."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, \
            open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for line in maps:
            area, rights = line.split()[:2]
            if rights[0] != "r" or line.rstrip().endswith("[vvar]"):
                continue
            start, end = (int(part, 16) for part in area.split("-"))
            if end - start > MOST:
                continue
            try:
                mem.seek(start)
                yield mem.read(end - start)
            except (OSError, OverflowError, ValueError):
                continue  # [vsyscall], or unmapped meanwhile


def scan(pid, wanted):
    """The numbers that a process has; prints how much was read."""
    found, total = set(), 0
    for area in memory(pid):
        total += len(area)
        found |= {name for piece, name in wanted if piece in area}
    print(f"process {pid}: {total >> 10} KiB read,"
          f" {len(found)} of {len(wanted)} found")
    for name in sorted(found):
        print(f"process {pid}: {name}")
    return bool(found)


def main():
    wanted = list(pieces(sys.argv[1]))
    try:
        return 0 if any([scan(pid, wanted) for pid in sys.argv[2:]]) else 1
    except PermissionError as error:
        print(error)
        return 2


sys.exit(main())
