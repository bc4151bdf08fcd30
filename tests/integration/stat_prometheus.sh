#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# warprsa-stat --prometheus: a real parser reads it, its sums are right and do
# not fall when processes end, and the dashboard asks for metrics that exist.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/metrics.sh"
configure openssl.cnf "$MODULE" engine="$ENGINE" "${PATIENT[@]}"

# Other tests run at the same time: this one's program has a name of its own.
program=ossl$$
ln -s "$(command -v "$OPENSSL")" "$program"
OPENSSL=$work/$program

rsa_key 2048 key.pem
self_signed key.pem certificate.pem
serve_with_provider -naccept 2
first=$server first_port=$port
serve_with_provider -naccept 1
handshakes "$first_port" 1
"$stat" | tee stat.log
grep -q "^$server $program: idle: has loaded warprsa" stat.log
"$stat" --prometheus --state state >metrics
user=$(id -un)
labels=user=$user,program=$program
expect metrics \
    "warprsa_processes{$labels,state=active}=1" \
    "warprsa_processes{$labels,state=idle}=1" \
    "warprsa_operations_total{$labels,route=$engine_counter,size=2048}=1" \
    "warprsa_operations_total{$labels,route=$engine_counter,size=4096}=0" \
    "warprsa_operations_total{$labels,route=cpu,size=other}=0" \
    "warprsa_cpu_operations_total{$labels,reason=route}=0" \
    "warprsa_batches_total{$labels}=1" \
    "warprsa_batch_operations_bucket{$labels,le=1}=1" \
    "warprsa_batch_operations_sum{$labels}=1" \
    "warprsa_queue_seconds_bucket{$labels,le=+Inf}=1" \
    "warprsa_queue_seconds_sum{$labels}=some" \
    "warprsa_batch_seconds_count{$labels}=1" \
    "warprsa_batch_seconds_sum{$labels}=some" \
    "warprsa_device_seconds_count{$labels}=1" \
    "warprsa_device_seconds_sum{$labels}=some" \
    "warprsa_devices{$labels}=1" "warprsa_keys{$labels}=1" \
    "warprsa_keys_loaded_total{$labels}=1" \
    "warprsa_device_ready{$labels,device=0}=1" \
    "warprsa_device_operations_total{$labels,device=0}=1"

# What it has counted after it was last seen is lost with the process; what was
# seen is not.
handshakes "$first_port" 1
wait "$first" || :
"$stat" --prometheus --state state >metrics
expect metrics "warprsa_processes{$labels,state=active}=0" \
    "warprsa_operations_total{$labels,route=$engine_counter,size=2048}=1" \
    "warprsa_keys{$labels}=0" "warprsa_device_ready{$labels,device=0}=0"
serve_with_provider -naccept 2
handshakes "$port" 1
"$stat" --prometheus --state state >metrics
"$stat" --prometheus --state state >metrics
expect metrics "warprsa_operations_total{$labels,route=$engine_counter,size=2048}=2" \
    "warprsa_queue_seconds_count{$labels}=2"
[ "$(stat -c %a state)" = 600 ] || fail "others may read the state"
"$stat" --prometheus >metrics
expect metrics "warprsa_operations_total{$labels,route=$engine_counter,size=2048}=1"

# Anybody may run programs under any name: the first 16 of a user's have series of
# their own.
"$python" - <<'END'
import struct
state = open("state", "rb").read()
head = struct.calcsize("8sIIQ")
size, count = struct.unpack("8sIIQ", state[:head])[2:]
assert len(state) == head + size * count, (len(state), size, count)
record = next(state[i:i + size] for i in range(head, len(state), size)
              if state[i:i + 4] == b"ossl" and state[i + 72:i + 80] == bytes(8))
with open("many", "wb") as out:
    out.write(state[:head - 8] + struct.pack("Q", 101))
    out.write(b'odd"\\\n'.ljust(64, b"\0") + record[64:])
    for i in range(100):
        out.write(f"program{i}".encode().ljust(64, b"\0") + record[64:])
END
cp many cut
truncate -s -100 cut
"$stat" --prometheus --state many >metrics 2>many.log
[ ! -s many.log ] || fail "$(cat many.log)"
named=$(grep -c '^warprsa_batches_total{user=".*",program="program[0-9]*"}' metrics)
[ "$named" -le 16 ] || fail "$named programs have a name"
expect metrics "warprsa_batches_total{user=$user,program=other}=some"

# A name in the file is no label yet, and of a file that is cut one hears.
expect metrics "warprsa_devices{user=$user,program=odd???}=0"
"$stat" --prometheus --state cut >metrics 2>cut.log
expect metrics "warprsa_devices{user=$user,program=odd???}=0"
grep -q '^warprsa-stat: cut: it is cut, 100 of 101 records' cut.log ||
    fail "$(cat cut.log)"
"$stat" --prometheus --state cut >metrics 2>cut.log
[ ! -s cut.log ] || fail "a new file is cut: $(cat cut.log)"

# Something else in the state's place: it begins anew, and says so.
echo nonsense >state
"$stat" --prometheus --state state >metrics 2>state.log
grep -q '^warprsa-stat: state: it is no state file' state.log ||
    fail "$(cat state.log)"
[ "$(echo state*)" = "state state.log" ] || fail "left behind: $(echo state*)"
expect metrics "warprsa_operations_total{$labels,route=$engine_counter,size=2048}=1"

configure daemon.cnf "$MODULE" "${WITH_DAEMON[@]}" "${PATIENT[@]}" engine=none
start_daemon
TRACE=$work/client.trace serve daemon.cnf client.trace
is_served() { # by a daemon that may be late
    handshakes "$port" 1
    [ "$(live "$server" "$engine_counter")" = 1 ]
}
wait_for 60 is_served
client_seen() {
    "$stat" --prometheus >metrics
    expect metrics "warprsad_clients{user=$user}=some"
}
wait_for 60 client_seen
expect metrics "warprsad_operations_total{user=$user,size=2048}=some" \
    "warprsa_operations_total{$labels,route=$engine_counter,size=2048}=2" \
    "warprsa_device_ready{user=$user,program=warprsad,device=0}=some"

"$python" - <<END
import json, re
from prometheus_client.parser import text_string_to_metric_families
names = {s.name for f in text_string_to_metric_families(open("metrics").read())
         for s in f.samples}
# Nobody uses a key of a vault here: its metrics are named, without samples.
names |= {n for n in re.findall(r"^# TYPE (warprsad_key_\w+) ",
                                open("metrics").read(), re.M)}
board = json.load(open("$SOURCE_DIR/doc/grafana-dashboard.json"))
queries = [t["expr"] for p in board["panels"] for t in p.get("targets", [])]
queries += [v["query"] for v in board["templating"]["list"]
            if v["type"] == "query"]
asked = {n for q in queries for n in re.findall(r"\bwarprsad?_\w+", q)}
assert len(queries) > 10 and asked, board
assert asked <= names, f"no such metrics: {asked - names}"
END

# The unit's command. It writes to its own directory, and to nothing that is
# there already, such as a link.
unit=$BUILD_DIR/conf/warprsa-stat.service
! grep -E '^(StandardOutput|ReadWritePaths|ExecStartPost)=' "$unit" ||
    fail "it writes elsewhere than to its RuntimeDirectory"
command=$(sed -n "/^ExecStart=/,/'\$/p" "$unit" | tr -d '\\\\\n' |
    sed "s|^ExecStart=||; s|[^ ]*/warprsa-stat |$stat |")
mkdir run
echo victim >victim
ln -s ../victim run/metrics.new
ln -s ../victim run/warprsa.prom
for _ in 1 2; do
    (umask 0022 && cd run && eval "$command") || fail "$command"
    [ "$(cat victim)" = victim ] || fail "it writes through a link"
    [ "$(stat -c '%F %a' run/warprsa.prom)" = "regular file 644" ] &&
        [ "$(stat -c '%F %a' run/state)" = "regular file 600" ] &&
        [ "$(echo run/*)" = "run/state run/warprsa.prom" ] ||
        fail "$(ls -l run)"
done
expect run/warprsa.prom "warprsad_clients{user=$user}=some"
if command -v systemd-analyze >/dev/null; then
    sed "s|[^ ]*/warprsa-stat --|$stat --|; /^Documentation=/d" "$unit" \
        >verified.service
    systemd-analyze verify --man=no ./verified.service >verify.log 2>&1 ||
        fail "$(cat verify.log)"
    ! grep verified verify.log || fail "$(cat verify.log)"
    systemd-analyze security --offline=true --threshold=25 --no-pager \
        ./verified.service >security.log || fail "$(tail -n 3 security.log)"
    tail -n 1 security.log
fi
