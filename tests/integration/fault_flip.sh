#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One bit of the result modulo one prime is flipped. The check finds it, and the
# caller gets the right result. Without the check, the wrong signature s of the
# padded message m reveals a prime factor, gcd(s^e - m, n) (Boneh, DeMillo and
# Lipton, 1997).
. "$(dirname "$0")/lib.sh"

need python3
use_faulty_module

# factor KEY NUMBER POWER: the prime factor of the key's modulus that a wrong
# POWER of NUMBER reveals, if it does.
factor() {
    plain rsa -in "$1" -noout -modulus | sed s/Modulus=// >modulus
    python3 - modulus "$2" "$3" <<'END'
import math, sys
n = int(open(sys.argv[1]).read(), 16)
m, s = (int.from_bytes(open(name, "rb").read(), "big") for name in sys.argv[2:])
divisor = math.gcd(pow(s, 65537, n) - m, n)
if 1 < divisor < n:
    assert n % divisor == 0
    print(divisor)
END
}

for bits in 1024 2048 3072 4096; do
    rsa_key "$bits" key.pem
    { printf '\0\1'; head -c $((bits / 8 - 2)) /dev/urandom; } >number
    sign=(pkeyutl -decrypt -inkey key.pem -in number -out power
        -pkeyopt rsa_padding_mode:none)

    WARPRSA_FAULT=flip with_provider "${sign[@]}"
    plain pkeyutl -encrypt -pubin -inkey key.pem.pub -in power \
        -pkeyopt rsa_padding_mode:none | cmp - number
    [ -z "$(factor key.pem number power)" ] || fail "the key is out"
    expect_counters provider.trace "$engine_counter=0" cpu=1 \
        cpu_check_failed=1 checks_failed=1

    WARPRSA_FAULT=flip,unchecked with_provider "${sign[@]}"
    [ -n "$(factor key.pem number power)" ] ||
        fail "$bits: the flipped bit gave nothing away: this test tests nothing"
    expect_counters provider.trace "$engine_counter=1" cpu=0
done
