#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# haproxy with ssl-mode-async, one thread, and conf/openssl.cnf as it stands
# (route = auto, engine = auto, mode = process). With the engine the thread has
# time to spare, since then the clients take longer: no more gets done, but the
# engine keeps the handshakes. A single client's stay with OpenSSL.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

[ "$ENGINE" != host ] || skip "auto never chooses the host engine"
prepare_haproxy
configure openssl.cnf "$MODULE"
# As its comments say for mode = process.
sed -i -e '/^ *chroot/d' -e 's/^global/&\n    insecure-fork-wanted/' \
    -e 's/^global/&\n    nbthread 1/' haproxy.cfg

by_engine() { # 0 before the first operation of all
    local gpu ifma
    gpu=$(live "$haproxy" gpu 2>/dev/null || :)
    ifma=$(live "$haproxy" ifma 2>/dev/null || :)
    echo $((${gpu:-0} + ${ifma:-0}))
}

# The CPU time that all but haproxy have used so far, in hundredths of a second.
used_by_others() {
    awk 'FNR == 1 && FILENAME == "/proc/stat" {
        used = $2 + $3 + $4 + $7 + $8 + $9
    } FILENAME != "/proc/stat" {
        sub(/.*\)/, "")
        print used - $12 - $13
    }' /proc/stat "/proc/$haproxy/stat"
}

# load_of CLIENTS COUNT: sets `part`, how many of 100 handshakes the engine has
# done for, and `disturbed`, whether others took a tenth of the CPUs meanwhile.
load_of() {
    local before others begun=$EPOCHREALTIME all
    before=$(by_engine)
    others=$(used_by_others)
    load 9443 --clients="$1" --count="$2"
    all=$(((${EPOCHREALTIME/./} - ${begun/./}) * $(nproc) / 10000))
    others=$(($(used_by_others) - others - $(grep -o 'client_cpu_s=[0-9.]*' \
        load.log | tail -n 1 | awk -F = '{ printf "%d", $2 * 100 }')))
    disturbed=$((others * 10 > all))
    part=$((($(by_engine) - before) * 100 / $2))
    echo "$1 clients: $part % by the engine," \
        "others took $((others * 100 / all)) % of the CPUs"
}

start_haproxy
load_of 1 100
[ "$part" = 0 ] || fail "a single client's handshakes went to the engine"
# Which of the two is quicker is measured, and other programs on this machine may
# disturb that. Each probe is repeated after a longer pause. If they disturb
# again and again, it is enough that the router has tried the engine.
times_disturbed=0
for _ in {1..20}; do
    load_of 64 2000
    [ "$part" -lt 90 ] || break
    times_disturbed=$((times_disturbed + disturbed))
    [ "$times_disturbed" -lt 5 ] || break
done
if [ "$part" -lt 90 ]; then
    [ "$times_disturbed" -ge 5 ] ||
        fail "the engine never kept the handshakes of 64 clients"
    [ "$(by_engine)" -gt 0 ] || fail "the router never tried the engine"
fi
stop_haproxy
expect_totals checks_failed=0
