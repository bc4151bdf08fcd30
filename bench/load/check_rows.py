#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what warprsa-load has written: check_rows FILE.csv FILE.json CHECK...

Both files must say the same. Each CHECK is a Python expression over the
columns of a row, and must hold in every row; "N rows" counts them.
"""
import csv
import json
import sys


def value(text):
    try:
        return float(text)
    except ValueError:
        return text


def main(csv_path, json_path, checks):
    with open(csv_path, newline="") as file:
        rows = [{k: value(v) for k, v in row.items()}
                for row in csv.DictReader(file)]
    with open(json_path) as file:
        same = [{k: float(v) if isinstance(v, (int, float)) else value(v)
                 for k, v in row.items()} for row in json.load(file)]
    if rows != same:
        sys.exit(f"the files differ: {rows} {same}")
    for check in checks:
        if check.endswith(" rows"):
            if len(rows) != int(check.split()[0]):
                sys.exit(f"{len(rows)} rows, not {check}")
            continue
        for row in rows:
            if not eval(check, {}, row):
                sys.exit(f"not {check}: {row}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
