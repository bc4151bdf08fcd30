# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# A zone for tests of DNSSEC, example.org, without keys; sourced after lib.sh. It
# is in the file zone, and has "names" names beside its own.

: "${work:?lib.sh comes first}"
names=20
{
    echo "\$TTL 3600"
    echo "@ SOA ns.example.org. root.example.org. 1 3600 600 86400 3600"
    echo "@ NS ns"
    for ((i = 0; i < names; i++)); do
        echo "name$i A 192.0.2.$((i % 250 + 1))"
    done
    echo "ns A 192.0.2.1"
} >zone
