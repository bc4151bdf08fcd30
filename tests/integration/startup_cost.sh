#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What loading the provider costs a program that never uses it, in instructions,
# which are the same whatever else the machine does. What can wait for the first
# private operation is not done: no random generator is seeded, and no symbol
# table is searched.
. "$(dirname "$0")/lib.sh"

need valgrind
! grep -qE '__[at]san_init' <<<"$(nm "$MODULE")" || skip "a sanitizer's build"
cp "$SOURCE_DIR/conf/openssl.cnf" sample.cnf
configure sample.cnf "$MODULE"
instructions() { # CONFIGURATION
    OPENSSL_CONF=$1 valgrind --tool=callgrind --callgrind-out-file=calls \
        "$OPENSSL" version 2>&1 | sed -n 's/.*I *refs: *//p' | tr -d ,
}
grep -q warprsa <<<"$(OPENSSL_CONF=$work/sample.cnf "$OPENSSL" list -providers)" ||
    fail "the provider is not loaded"
without=$(instructions /dev/null)
[ -n "$without" ] || skip "valgrind does not run here"
with=$(instructions "$work/sample.cnf")
echo "$without instructions without, $with with the provider"
# Measured: 2.4 million; some millions more in another libcrypto.
[ $((with - without)) -lt 6000000 ] || fail "loading costs too much"

# No thread and no descriptor more than without.
waiting() { # CONFIGURATION: sets "threads" and "descriptors" of a program
    OPENSSL_CONF=$1 "$OPENSSL" sha256 >/dev/null < <(
        echo x
        exec sleep 60 2>/dev/null
    ) &
    program=$!
    servers+=("$program")
    wait_for 60 reads
    threads=$(find "/proc/$program/task" -mindepth 1 -maxdepth 1 | wc -l)
    descriptors=$(find "/proc/$program/fd" -mindepth 1 | wc -l)
}
reads() { # by read(), which is system call 0, of openssl and not of the shell
    [ "$(readlink "/proc/$program/exe")" = "$(realpath "$(type -P "$OPENSSL")")" ] &&
        grep -qE '^(0|63) 0x0 ' "/proc/$program/syscall"
}
waiting /dev/null
usual=$descriptors
waiting "$work/sample.cnf"
grep -q "$(basename "$MODULE")" "/proc/$program/maps" || fail "it is not loaded"
[ "$threads" = 1 ] && [ "$descriptors" = "$usual" ] ||
    fail "$threads threads, $descriptors descriptors, without it $usual"
