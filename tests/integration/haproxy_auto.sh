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

# load_of CLIENTS COUNT: sets `part`, how many of 100 handshakes the engine has
# done for.
load_of() {
    local before
    before=$(by_engine)
    load 9443 --clients="$1" --count="$2"
    part=$((($(by_engine) - before) * 100 / $2))
    echo "$1 clients: $part % by the engine"
}

start_haproxy
load_of 1 100
[ "$part" = 0 ] || fail "a single client's handshakes went to the engine"
# Other programs on this machine may disturb a probe, and each is repeated after
# a longer pause.
for _ in {1..20}; do
    load_of 64 2000
    [ "$part" -lt 90 ] || break
done
[ "$part" -ge 90 ] || fail "the engine never kept the handshakes of 64 clients"
stop_haproxy
expect_totals checks_failed=0
