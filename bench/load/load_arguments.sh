#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Options that make no sense are refused, and the message says what is allowed.
. "$(dirname "$0")/lib.sh"

refused() { # MESSAGE ARGUMENT...
    local status=0 message=$1
    shift
    "$LOAD" --module="$MODULE" "$@" >out 2>complaint || status=$?
    [ "$status" -eq 2 ] || fail "exit status $status: $*"
    grep -q -- "$message" complaint ||
        fail "$*: wanted \"$message\", got: $(cat complaint)"
}

refused "1024 to 4096" --keys=512
refused "even number" --keys=1025
refused "comma is wanted" --keys=2048y
refused "1 to 100000" --keys=2048x0
for bad in zipf zipf: zipf:0 zipf:-1 zipf:11 zipf:nan zipf:1x zipf:1,1 even; do
    refused "\"$bad\": uniform or zipf:S, S from 0.01 to 10" \
        --distribution=$bad
done
refused "pkcs1, bare, raw, pss or oaep" --mix=pkcs7
refused "1 to 1000000" --mix=pkcs1:0
refused "nowhere.pem: an RSA key or a reference" --key-files=nowhere.pem
plain genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out ec.pem
refused "ec.pem: an RSA key or a reference" --key-files=ec.pem
refused "64 at most" --key-files="$(printf 'a,%.0s' {1..64})"
refused "callback or fd" --wake=signal
refused "fresh or kept" --contexts=old
refused "even or poisson" --arrivals=odd
refused "1 to 4096" --threads=none
refused "1 to" --in-flight=0
refused "one of them" --in-flight=1 --jobs=1
refused "one of them" --blocking --jobs=1
refused "4096 threads" --blocking --in-flight=5000
refused "seconds from" --seconds=-1
refused "no settings" --subject="default route=gpu"
refused "a name of" --subject=" route=gpu"
refused "no quotes" --subject='x "route=gpu"'
refused "no such argument" surplus
refused "see warprsa-load --help" --nonsense
refused "can't be loaded" --keys=1024x1 --subject="x route=sideways"
refused "No such file" --keys=1024x1 --csv=/nowhere/at/all
refused "module: .*/nowhere.so.*No such file" --module=/nowhere.so
"$LOAD" --help | grep "^usage:"
"$LOAD" --help | grep "for measuring alone"
# A path may be relative, as documents have it.
cp "$MODULE" copied.so
"$LOAD" --module=./copied.so --keys=1024x1 --threads=1 --in-flight=1 \
    --seconds=0.1 --subject="x route=cpu" >out
