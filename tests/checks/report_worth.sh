#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `bench/report worth-BITS`, whose pieces make one table: by a load generator that
# always says the same rate, and without it from made-up rows of bench/power, of
# a GPU, whose joules and worth in CPUs are known. Files of several sizes become
# columns, and what was measured in several settings names them all. The card that
# a table names is the one of several that was measured.
set -euo pipefail
cd "$(dirname "$0")/../.."
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/bench/load" "$tree/bench" "$tree/bin" "$tree/doc/data"
cp bench/table "$tree/bench"
export BUILD_DIR=$tree WARPRSA_BENCH_REVISION=0123456789ab \
    WARPRSA_BENCH_OUT=$tree/doc/data WARPRSA_BENCH_SECONDS=1 \
    WARPRSA_BENCH_RUNS=3

fail() { # MESSAGE
    echo "report_worth.sh: $1" >&2
    exit 1
}
shows() { # TEXT
    grep -qF -- "$1" "$tree/README.md" ||
        fail "no \"$1\" in: $(cat "$tree/README.md")"
}
fill() {
    printf '%s\n' '<!-- table: worth -->' '<!-- end -->' >"$tree/README.md"
    python3 "$tree/bench/table" documents >/dev/null 2>&1 ||
        fail "no table can be made"
}

cat >"$tree/bench/load/warprsa-load" <<'END'
#!/usr/bin/env bash
for option; do
    [[ $option != --json=* ]] || file=${option#*=}
done
echo '{"rate": 1234.0}' >"$file"
END
cat >"$tree/bin/nvidia-smi" <<'END'
#!/bin/sh
[ "$1" = -i ] && echo "card number $2, 1"
END
chmod +x "$tree/bench/load/warprsa-load" "$tree/bin/nvidia-smi"
if [ ! -e /dev/nvidiactl ]; then
    PATH=$tree/bin:$PATH CUDA_VISIBLE_DEVICES=1 bench/report worth-2048 \
        worth-4096 >/dev/null 2>&1 || fail "it fails"
    fill
    shows 'card number 1'
    shows '|  | RSA-2048 | RSA-4096 |'
    shows '| 1,234 | 1,234 |'
    shows "WARPRSA_BENCH_BITS=2048 bench/power"
    shows "WARPRSA_BENCH_BITS=4096 bench/power"
    echo "exit 1" >>"$tree/bench/load/warprsa-load"
    ! bench/report worth-2048 >/dev/null 2>&1 || fail "it hides a failure"
fi

cat >"$tree/power.csv" <<'END'
bits,subject,run,rate,watts,cpu_watts,openssl
3072,default,0,1000,,50,3.0.1
3072,gpu,0,40000,400,60,3.0.1
3072,tls,0,20000,300,70,3.0.1
3072,ifma,0,4000,,55,3.0.1
3072,default,1,1000,,50,3.0.1
3072,gpu,1,40000,400,60,3.0.1
3072,tls,1,20000,300,70,3.0.1
3072,ifma,1,4000,,55,3.0.1
END
python3 - "$tree" <<'END'
import importlib.machinery
import importlib.util
import os
import pathlib
import sys

loader = importlib.machinery.SourceFileLoader("report", "bench/report")
spec = importlib.util.spec_from_loader("report", loader)
report = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
loader.exec_module(report)
cpus = len(os.sched_getaffinity(0))
cells = {(cell["row"], cell["unit"]): float(cell["median"])
         for cell in report.worth(pathlib.Path(sys.argv[1]))}
default = "default provider of OpenSSL 3.0.1"
expected = {
    (f"{cpus} CPUs, {default}", "/s"): 1000,
    (f"{cpus} CPUs, {default}: power", "W"): 50,
    ("operations for a joule of that", ""): 100,
    (f"it is worth so many CPUs, {default}", ""): 40 * cpus,
    ("it is worth so many CPUs, `engine = ifma`", ""): 10 * cpus,
}
for name, value in expected.items():
    assert cells[name] == value, (name, cells.get(name), cells)
END
