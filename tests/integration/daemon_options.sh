#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# warprsad's options on the command line and in the file, reloading them,
# sockets of other daemons, and the samples in conf/.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

warprsad=$BUILD_DIR/batching/daemon/warprsad
"$warprsad" --help | grep -- '--client-slots'
"$warprsad" --version | grep '^warprsad [0-9]'

refused() { # WANTED-TEXT OPTION...
    local wanted=$1 status=0
    shift
    "$warprsad" --socket="$work/s" "$@" >refused.log 2>&1 || status=$?
    [ "$status" = 2 ] || fail "$*: status $status"
    grep -qF -- "$wanted" refused.log || fail "$*: $(cat refused.log)"
}
refused 'engine = gpu: expected auto, cuda, ifma or host' --engine=gpu
refused 'cpu_threads = 257: expected auto or a number from 0 to 256' \
    --cpu-threads=257
refused 'slots = 0: expected a number from 1 to 65536' --slots=0
refused 'devices = 0,16: expected all, or device numbers' --devices=0,16
refused 'devices = 1,: expected all' --devices=1,
refused 'socket = s: expected an absolute path' --socket=s
refused 'table_reads = all: expected scan or direct' --table-reads=all
refused 'calibration_file = c: expected none or an absolute path' \
    --calibration-file=c
refused 'keys_directory = keys: expected none or an absolute path' \
    --keys-directory=keys
refused 'keys_directory: needs keys_rules, too' --keys-directory=/keys
refused 'keys_passphrase_file: needs keys_directory, too' \
    --keys-passphrase-file=/passphrase
refused 'see warprsad --help' --colour=blue
refused 'extra: no such argument' extra
refused 'no.conf: No such file or directory' --config=no.conf
printf 'client_slots = 64\nclients = many\n' >bad.conf
refused 'bad.conf:2: clients = many: expected a number' --config=bad.conf
printf 'client-slots = 64\n' >bad.conf
refused 'bad.conf:1: client-slots' --config=bad.conf
printf '# %01100d\n' 0 >bad.conf
refused 'bad.conf:1: expected a line of less than' --config=bad.conf
! "$warprsad" --engine=host --socket="$work/no/s" >refused.log 2>&1 ||
    fail "it listens nowhere"
grep -q "$work/no/s: No such file or directory" refused.log
! "$warprsad" --engine=host --socket="$work/s" --group=no-such-group \
    >refused.log 2>&1 || fail "it has no such group"
grep -q 'there is no group no-such-group' refused.log
[ ! -e s ] || fail "the socket of a daemon that did not start is left"

# A path that names something else than a socket: it is an error, and the file
# is there afterwards, what a link names too.
echo precious >precious
ln -s precious link
mkdir directory
for name in precious link directory; do
    ! "$warprsad" --engine=host --socket="$work/$name" >refused.log 2>&1 ||
        fail "it listens at $name"
    grep -q "$work/$name: there is a file that is no socket" refused.log
done
[ "$(cat precious)" = precious ] && [ -L link ] && [ -d directory ]

# What the sample file says are the defaults, are; the command line takes
# precedence over the file.
sed -n 's/^#\([a-z_]* = .*\)/\1/p' "$SOURCE_DIR/conf/warprsad.conf" >all.conf
"$warprsad" --help >help.txt
while IFS='= ' read -r name value; do
    grep -A 1 -e "^  --${name//_/-} " help.txt | grep -F "($value)" ||
        fail "conf/warprsad.conf: $name = $value is not the default"
done <all.conf
start_daemon --config="$SOURCE_DIR/conf/warprsad.conf"
[ "$(stat -c '%a' warprsad.sock)" = 660 ]
for pid in "$daemon" "$(serving)"; do
    grep -q '^Max core file size *0 *0 ' "/proc/$pid/limits" ||
        fail "it may dump core"
done
! "$warprsad" --engine=host --socket="$work/warprsad.sock" >refused.log 2>&1 ||
    fail "two daemons on one socket"
grep -q 'another daemon listens there' refused.log
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || :

# A daemon starts in spite of the socket left behind. SIGHUP sets new limits.
cp all.conf my.conf
start_daemon --config=my.conf
rsa_key 1024 key.pem
: >provider.trace
sign() {
    with_provider dgst -sha256 -sign key.pem -out sig key.pem.pub
}
by_daemon sign
grep -q 'connected, 2048 slots' daemon.log
echo 'client_slots = 8' >>my.conf
kill -HUP "$daemon"
wait_for 30 grep -q 'reloaded' daemon.log
by_daemon sign
grep -q 'connected, 8 slots' daemon.log
# Programs that make no operation leave no line.
! grep 'has a control connection' daemon.log || fail "a line for each program"
echo 'client_slots = 0' >>my.conf
kill -HUP "$daemon"
wait_for 30 grep -q 'options not reloaded' daemon.log
by_daemon sign
[ "$(total gpu)" = 3 ] || fail "$(total gpu) operations"
terminate "$daemon"

# The daemon locks its memory, or says that it can't.
ulimit -S -l 64
start_daemon
grep -q "memory isn't locked: RLIMIT_MEMLOCK" daemon.log
terminate "$daemon"
if ulimit -l unlimited 2>/dev/null; then
    start_daemon
    ! grep "isn't locked" daemon.log || fail "its memory isn't locked"
    locked=$(awk '$1 == "VmLck:" { print $2 }' "/proc/$(serving)/status")
    [ "$locked" -gt 1000 ] || fail "only $locked KiB of its memory are locked"
    terminate "$daemon"
fi

start_daemon --table-reads=direct --calibration-file=none
grep -q 'ready: .*direct reads' daemon.log
sign
terminate "$daemon"

# With a socket that systemd has opened. The first connection starts the daemon,
# which does not remove the socket at its end.
if command -v systemd-socket-activate >/dev/null; then
    rm -f warprsad.sock
    systemd-socket-activate --seqpacket --listen="$work/warprsad.sock" \
        "$warprsad" --engine="$ENGINE" >activated.log 2>&1 &
    activated=$!
    servers+=("$activated")
    wait_for 60 grep -q '^Listening on' activated.log
    before=$(total gpu)
    by_daemon sign
    [ "$(total gpu)" = $((before + 1)) ] || fail "$(cat activated.log)"
    terminate "$activated"
    [ -S warprsad.sock ] || fail "the socket is not the daemon's to remove"
fi
