#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# warprsa-stat --prometheus believes counters of the user that owns them: what a
# user makes up is that user's alone, under whatever name, in whosever process,
# by whatever id, and however much of it there is. The state file is nobody
# else's to read or to place.

# In a PID namespace there are no processes of other tests, and a mount of the
# test's own is nobody else's.
if [ "$(id -u)" -eq 0 ] && [ "${1:-}" != inside ] &&
    unshare --pid --fork --mount --mount-proc true 2>/dev/null; then
    exec unshare --pid --fork --kill-child --mount --mount-proc \
        bash "$0" inside
fi
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/metrics.sh"
as_root "processes of other users"
[ "${1:-}" = inside ] || skip "no namespaces here"
need setpriv

# Two users that every system has: whoever forges, and whose numbers they are
# to be.
M=games V=news
m=$(id -u $M) && v=$(id -u $V) || skip "no users $M and $V here"
forged=1000000000000

forge() { # NAME MAKER HOLDER COUNT keep|map|anonymous; sets `forger`
    : >forge.log
    "$BUILD_DIR/tests/integration/forged_counters" "$@" >forge.log 2>&1 &
    forger=$!
    servers+=("$forger")
    wait_for 60 grep -q ready forge.log
}
end() { # PID...
    kill "$@"
    wait "$@" 2>/dev/null || :
}
measure() {
    "$stat" --prometheus --state state >metrics 2>stat.log ||
        fail "$(cat stat.log)"
}
operations() { # USER PROGRAM
    echo "warprsa_operations_total{user=$1,program=$2,route=gpu,size=2048}"
}

# A daemon of root's, and one of M's making.
rsa_key 2048 key.pem
configure openssl.cnf "$MODULE" "${WITH_DAEMON[@]}" "${PATIENT[@]}" engine=none
start_daemon
: >provider.trace
by_daemon sign_and_verify key.pem
own=$(live "$daemon" "${engine_counter}_2048")
measure
expect metrics "warprsad_operations_total{user=root,size=2048}=$own" \
    "warprsad_operations_total{user=$M,size=2048}=none"
forge warprsad "$m" "$m" 1 keep
measure
expect metrics "warprsad_operations_total{user=root,size=2048}=$own" \
    "warprsad_refused_total{user=root,reason=check_failed}=0" \
    "warprsa_checks_failed_total{user=root,program=warprsad}=0" \
    "warprsa_device_wrong_total{user=root,program=warprsad,device=0}=0" \
    "warprsa_processes{user=root,program=warprsad,state=active}=1" \
    "warprsad_operations_total{user=$M,size=2048}=$forged" \
    "warprsad_refused_total{user=$M,reason=check_failed}=777" \
    "warprsa_checks_failed_total{user=$M,program=warprsad}=666" \
    "warprsa_device_wrong_total{user=$M,program=warprsad,device=0}=1" \
    "warprsad_clients{user=$M}=0"
end "$forger"
measure # what has ended stays counted, of its user
expect metrics "warprsad_operations_total{user=root,size=2048}=$own" \
    "warprsad_operations_total{user=$M,size=2048}=$forged"

# Under the name of a program of another user's.
forge shop "$v" "$v" 1 keep
shop=$forger
forge shop "$m" "$m" 1 keep
measure
expect metrics "$(operations $V shop)=$forged" "$(operations $M shop)=$forged"
end "$forger"

# M's blocks in other users' processes, which take descriptors from anybody: they
# count for nobody, or in root's process for M.
forge bus "$m" "$v" 2 keep
measure
expect metrics "$(operations $V bus)=none" "$(operations $M bus)=none" \
    "warprsa_foreign_counters{user=$M}=2" \
    "warprsa_foreign_counters{user=$V}=0"
"$stat" >stat.log
! grep "^$forger " stat.log || fail "M's counters are shown as V's"
end "$forger"
forge display "$m" "$v" 1 map
measure
expect metrics "$(operations $V display)=none" \
    "warprsa_foreign_counters{user=$M}=1"
end "$forger"
forge journal "$m" 0 1 keep
measure
expect metrics "$(operations root journal)=none" \
    "$(operations $M journal)=$forged" "warprsa_foreign_counters{user=$M}=0"
"$stat" >stat.log
grep -q "^$forger journal (counters of user $m): " stat.log ||
    fail "whose counters? $(cat stat.log)"
end "$forger"

# A server's blocks, which root has made before it became another user, and those
# without a descriptor or a file.
for how in keep map anonymous; do
    forge "$how" 0 "$v" 1 "$how"
    measure
    expect metrics "$(operations $V "$how")=$forged"
    end "$forger"
done
forge closed "$v" "$v" 1 map
measure
expect metrics "$(operations $V closed)=$forged"
# The unit's privileges are enough.
privileges=$(sed -n '/^CapabilityBoundingSet=/{s///;s/CAP_/+/g;s/ /,/g;p}' \
    "$BUILD_DIR/conf/warprsa-stat.service")
setpriv --bounding-set "-all,${privileges,,}" --no-new-privs \
    "$stat" --prometheus >metrics
expect metrics "$(operations $V closed)=$forged" \
    "$(operations $V shop)=$forged" warprsa_unreadable_processes=0
# Who may not learn the maker of a mapping does not count it.
setpriv --bounding-set -checkpoint_restore,-sys_admin \
    "$stat" --prometheus >metrics
expect metrics "$(operations $V closed)=0" \
    "warprsa_processes{user=$V,program=closed,state=unknown}=1"
end "$forger"

# An id that M may take in a user namespace is M's.
mapped=$m
if [ -e /etc/subuid ]; then
    echo "$M:3000000:65536" >subuid
    mount --bind subuid /etc/subuid
    mapped=3000007
fi
forge mapped "$mapped" "$mapped" 1 keep
measure
expect metrics "$(operations $M mapped)=$forged"
end "$forger"

# More than one user may have, in processes and in names: V's numbers stay.
crowd=()
for ((i = 0; i < 129; i++)); do # each with 16 blocks, of 2048 in all
    "$BUILD_DIR/tests/integration/forged_counters" "crowd$((i % 20))" "$m" \
        "$mapped" 16 keep >>crowd.log 2>&1 &
    crowd+=("$!")
done
is_complete() {
    [ "$(grep -c ready crowd.log)" = 129 ]
}
wait_for 60 is_complete
measure
expect metrics "warprsa_left_out_processes{user=$V}=0" \
    "warprsa_left_out_processes{user=root}=0" \
    "$(operations $V shop)=$forged" \
    "warprsad_operations_total{user=root,size=2048}=$own"
"$python" - $M <<'END'
import sys
from prometheus_client.parser import text_string_to_metric_families
mine = [s for f in text_string_to_metric_families(open("metrics").read())
        for s in f.samples if s.labels.get("user") == sys.argv[1]]
names = {s.labels["program"] for s in mine if "program" in s.labels}
assert len(names) == 17 and "other" in names, names
left_out, = (s.value for s in mine if s.name == "warprsa_left_out_processes")
assert left_out == 129 * 16 - 2048, left_out
END
end "${crowd[@]}"

# A name that is no label yet.
forge $'a"\\b\n' "$m" "$m" 1 keep
"$stat" --prometheus >metrics
expect metrics "$(operations $M 'a??b')=$forged"
end "$forger"

# A link where the state should be is not followed, neither to be read nor to be
# written; nor is a file believed that others can write.
"$stat" --prometheus --state good >metrics
cp good target
sha256sum target >sum
ln -s target link
"$stat" --prometheus --state link >metrics 2>stat.log
grep -q '^warprsa-stat: link: it is a link' stat.log || fail "$(cat stat.log)"
sha256sum -c --quiet sum && [ ! -L link ] && [ -f link ] ||
    fail "the link was followed"
[ "$(stat -c %a link)" = 600 ] || fail "others may read the state"
mkfifo fifo
"$stat" --prometheus --state fifo >metrics 2>stat.log
grep -q '^warprsa-stat: fifo: it is a link, or no regular' stat.log ||
    fail "$(cat stat.log)"
for change in "chmod 666" "chown $m"; do
    cp good theirs
    $change theirs
    "$stat" --prometheus --state theirs >metrics 2>stat.log
    grep -q 'only this user or root can write' stat.log ||
        fail "$change: $(cat stat.log)"
done
"$stat" --prometheus --state theirs >metrics 2>stat.log
[ ! -s stat.log ] || fail "$(cat stat.log)"
end "$shop"
