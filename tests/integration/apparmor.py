# SPDX-License-Identifier: Apache-2.0
"""Looks paths up in profiles of AppArmor, as the kernel would.

    apparmor.py allows PROFILE BASE PATHS     each line of PATHS: PERMISSIONS PATH
    apparmor.py denies PROFILE BASE PATHS
    apparmor.py trace PROFILE BASE STRACE     what `strace -f -y` has written

BASE is the directory of abstractions and tunables. Prints each path that the
profile treats in another way, and how many it has looked at; the exit status is
1 if there was one. Of a trace only files are looked at that were opened, mapped
to be executed, bound, connected to, renamed or removed: to look at what a file
is, or to open it for that alone (O_PATH), needs no permission.
"""
import re
import subprocess
import sys

RULE = re.compile(r"^(?P<before>(?:audit |deny |owner |file )*)"
                  r"(?P<path>[/@]\S*)\s+(?P<may>[a-zA-Z]+)\s*,")
VARIABLE = re.compile(r"^(@\{[^}]+\})\s*\+?=\s*(.*)$")
# What has no path that the kernel would look up.
NO_PATH = re.compile(r"^(/memfd:|anon_inode:|socket:|pipe:|UNIX|TCP|/dev/zero \(d)")
OPENED = re.compile(r'openat?\(.*?"[^"]*", (O_[A-Z_|]+).*\) = \d+<(.*)>$')
MAPPED = re.compile(r"mmap\(.*PROT_EXEC.*?, \d+<([^>]*)>, ")
PATH_CALL = re.compile(r'(unlink|rename|chmod|mkdir)(?:at)?\(.*"(/[^"]*)"')
SOCKET = re.compile(r'(bind|connect)\(.*sun_path="(/[^"]*)"')


def alternatives(pattern):
    """The pattern without braces: a list of what they stand for."""
    start = depth = 0
    for at, char in enumerate(pattern):
        if char == "{":
            if depth == 0:
                start, parts, last = at, [], at + 1
            depth += 1
        elif char == "," and depth == 1:
            parts.append(pattern[last:at])
            last = at + 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                parts.append(pattern[last:at])
                return [pattern[:start] + one + rest
                        for part in parts for one in alternatives(part)
                        for rest in alternatives(pattern[at + 1:])]
    return [pattern]


def expression(pattern):
    """A regular expression for a path of a rule, without variables."""
    words = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    text = ""
    for word in re.findall(r"\*\*|\[[^]]*\]|.", pattern):
        text += words.get(word, word if word[0] == "[" else re.escape(word))
    # The last ** or * stands for one character at least.
    text = re.sub(r"/\.\*$", "/.+", re.sub(r"/\[\^/\]\*$", "/[^/]+", text))
    return text


class Profile:
    def __init__(self, path, base):
        text = subprocess.run(
            ["apparmor_parser", "--base", base, "-p", path], check=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            universal_newlines=True).stdout
        self.variables = {}
        self.rules = []
        for line in map(str.strip, text.splitlines()):
            variable = VARIABLE.match(line)
            rule = RULE.match(line)
            if variable:
                values = variable[2].replace('"', "").split()
                self.variables.setdefault(variable[1], []).extend(values)
            elif rule:
                self.rules.append(("deny" in rule["before"],
                                   self.compiled(rule["path"]), rule["may"]))

    def compiled(self, path):
        name = re.search(r"@\{[^}]+\}", path)
        if name:
            values = self.variables[name[0]]
            path = path.replace(name[0], "{" + ",".join(values) + "}", 1)
            return self.compiled(path)
        ways = (expression(re.sub("/+", "/", p)) for p in alternatives(path))
        return re.compile("(?:" + "|".join(ways) + r")\Z")

    def missing(self, path, wanted):
        """Which of the permissions the profile does not give."""
        given = set()
        for denied, rule, may in self.rules:
            if not denied and rule.match(path):
                given |= set(may)
        for denied, rule, may in self.rules:
            if denied and rule.match(path):
                given -= set(may)
        return set(wanted) - given


def accesses(trace):
    """(permissions, path) of each system call."""
    for line in open(trace, encoding="utf-8", errors="replace"):
        line = line.rstrip("\n")
        opened, mapped = OPENED.search(line), MAPPED.search(line)
        call, socket = PATH_CALL.search(line), SOCKET.search(line)
        how = opened[1] if opened else ""
        if "O_PATH" in how:
            continue
        if opened:
            yield ("rw" if "O_RDWR" in how else
                   "w" if "O_WRONLY" in how else "r"), (
                       opened[2].rstrip("/") + "/" * ("O_DIRECTORY" in how))
        elif mapped:
            yield "m", mapped[1]
        elif call and not line.endswith(")") and "= -1" not in line:
            yield "w", call[2]
        elif socket and "= -1" not in line:
            yield ("w" if socket[1] == "bind" else "rw"), socket[2]


def listed(paths):
    for line in open(paths, encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            yield line.split(None, 1)[0], line.split(None, 1)[1].strip()


def main():
    what, profile, base, file = sys.argv[1:]
    rules = Profile(profile, base)
    wrong = looked = 0
    for may, path in set(accesses(file) if what == "trace" else listed(file)):
        if NO_PATH.match(path):
            continue
        looked += 1
        missing = rules.missing(path, may)
        if bool(missing) != (what == "denies"):
            wrong += 1
            print(f"{profile} {'allows' if what == 'denies' else 'denies'} "
                  f"{''.join(sorted(missing or may))} {path}")
    print(f"{profile}: {len(rules.rules)} rules for files, {looked} paths")
    return 1 if wrong or not looked else 0


if __name__ == "__main__":
    sys.exit(main())
