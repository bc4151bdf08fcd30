#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `bench/report servers-BITS`: from made-up rows of bench/servers, whose row for
# P-256 has another length of key. Rates with their spread, processor time of
# server and daemon together, and the wait, where it was measured. A file without
# the default provider is refused. bench/servers takes whole seconds alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

cat >"$tree/servers.csv" <<'END'
server,workers,tls,bits,provider,client,median,least,most,server_us,daemon_us,idle_us,half_load,p50_ms,p99_ms,longest_ms
nginx,4,1.3,256,reference,handshakes,12000,11000,13000,260,0,1,,,,9
nginx,4,1.3,4096,default,handshakes,1800,1700,1900,2000,0,1,900,3,8.5,20
nginx,256,1.3,4096,daemon,handshakes,10800,10000,11000,300,25,1,5400,8,16.25,30
END
python3 - "$tree" <<'END'
import importlib.machinery
import importlib.util
import pathlib
import sys

loader = importlib.machinery.SourceFileLoader("report", "bench/report")
spec = importlib.util.spec_from_loader("report", loader)
report = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
loader.exec_module(report)
directory = pathlib.Path(sys.argv[1])
cells = report.servers(directory)
assert {cell["column"] for cell in cells} == {"RSA-4096"}, cells
found = {(cell["row"], cell["unit"]):
         tuple(float(cell[name]) for name in ("least", "median", "most"))
         for cell in cells}
cpu, wait = ": CPU time of server and daemon", ": p99 at half of that rate"
assert found == {
    ("nginx, a certificate of P-256", "/s"): (11000, 12000, 13000),
    ("nginx, a certificate of P-256" + cpu, "us"): (260, 260, 260),
    ("nginx, default provider", "/s"): (1700, 1800, 1900),
    ("nginx, default provider" + cpu, "us"): (2000, 2000, 2000),
    ("nginx, default provider" + wait, "ms"): (8.5, 8.5, 8.5),
    ("nginx, warprsa, daemon", "/s"): (10000, 10800, 11000),
    ("nginx, warprsa, daemon" + cpu, "us"): (325, 325, 325),
    ("nginx, warprsa, daemon" + wait, "ms"): (16.25, 16.25, 16.25),
}, found
file = directory / "servers.csv"
file.write_text("".join(line for line in file.read_text().splitlines(True)
                        if ",default," not in line))
try:
    report.servers(directory)
except ValueError:
    pass
else:
    sys.exit("a file without the default provider is taken")
END

mkdir "$tree/build"
! WARPRSA_BENCH_SECONDS=0.5 WARPRSA_BENCH_CPUS=0 BUILD_DIR=$tree/build \
    bench/servers "$tree/none.csv" >"$tree/log" 2>&1 || {
    echo "report_servers.sh: half a second is taken" >&2
    exit 1
}
grep -q 'WARPRSA_BENCH_SECONDS: whole seconds' "$tree/log" || {
    cat "$tree/log"
    exit 1
}
