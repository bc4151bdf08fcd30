#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keys that are freed after OpenSSL has been cleaned up, and after their library
# context, and threads that end after it: in every way of computing all is as
# with the default provider, no memory that is gone is used, and none is lost.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

program=$BUILD_DIR/tests/integration/key_life
# Valgrind knows nothing of a sanitizer's memory, and rounds otherwise than the
# engine on the CPU needs.
valgrind=()
if command -v valgrind >/dev/null &&
    ! grep -q 'lib[atu]*san' <<<"$(ldd "$program")"; then
    valgrind=(valgrind -q --leak-check=full --error-exitcode=9
        "--errors-for-leak-kinds=definite,possible")
fi

# From 4.0 on libcrypto does not clean up at exit(), and so does not unload the
# provider of a library context that the program has not freed.
unloaded=3
case $(plain version) in
'OpenSSL 3.'*) ;;
*) unloaded=2 ;;
esac

"$program" late >late.plain
sed '/^warprsa/d; /^default_properties/d' openssl.cnf >plain.cnf
"$program" order plain.cnf >order.plain
"$program" thread plain.cnf >thread.plain

# both CONFIGURATION COUNTER COMMAND...: the counter has the six private
# operations of each run of the command.
both() {
    local config=$1 counter=$2 trace=${1%.cnf}.trace end
    shift 2
    export WARPRSA_TRACE=file:$work/$trace
    OPENSSL_CONF=$config "$@" "$program" late >late.out
    cmp late.plain late.out || fail "late, $config: another output"
    expect_counters "$trace" "$counter"
    for end in order thread; do
        "$@" "$program" "$end" "$config" >"$end.out" ||
            fail "$end, $config: exit status $?"
        cmp "$end.plain" "$end.out" || fail "$end, $config: another output"
        expect_counters "$trace" "$counter"
    done
    [ "$(grep -c 'provider unloaded' "$trace")" = "$unloaded" ] ||
        fail "$config: the provider was not unloaded"
    [ "$(grep -o ' keys_[lw][a-z]*=[0-9]*' "$trace" | cut -d= -f2 |
        sort -u | wc -l)" = 1 ] || fail "$config: a key was loaded and not wiped"
}

configure cpu.cnf "$MODULE" engine=none route=cpu
configure gpu.cnf "$MODULE" engine="$ENGINE" "${PATIENT[@]}"
configure daemon.cnf "$MODULE" "${WITH_DAEMON[@]}" "${PATIENT[@]}" engine=none
start_daemon
both cpu.cnf cpu=6 "${valgrind[@]}"
both gpu.cnf "$engine_counter=6"
both daemon.cnf "$engine_counter=6" "${valgrind[@]}"
