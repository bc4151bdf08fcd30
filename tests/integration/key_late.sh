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
unloads_late=yes
case $(plain version) in
'OpenSSL 3.'*) ;;
*) unloads_late=no ;;
esac

"$program" late >late.plain
sed '/^warprsa/d; /^default_properties/d' openssl.cnf >plain.cnf
"$program" order plain.cnf >order.plain
"$program" thread plain.cnf >thread.plain

# life END CONFIGURATION COMMAND...: a run of the program, its output in life.out.
life() {
    local end=$1 config=$2
    shift 2
    export WARPRSA_TRACE=file:$work/provider.trace
    if [ "$end" = late ]; then
        OPENSSL_CONF=$config "$@" "$program" late >life.out
    else
        "$@" "$program" "$end" "$config" >life.out
    fi || fail "$end, $config: exit status $?"
}

# each CONFIGURATION COUNTER COMMAND...: the counter has the six private
# operations of each run of the command.
each() {
    local config=$1 counter=$2 end
    shift 2
    : >provider.trace
    : >keys
    for end in late order thread; do
        by_daemon life "$end" "$config" "$@"
        cmp "$end.plain" life.out || fail "$end, $config: another output"
        expect_counters provider.trace "$counter"
        [ "$end" = late ] && [ "$unloads_late" = no ] ||
            grep -q 'provider unloaded' <<<"$(tail -n 1 provider.trace)" ||
            fail "$end, $config: the provider was not unloaded"
        grep 'counters: ' provider.trace | tail -n 1 |
            grep -oE ' keys_(loaded|wiped)=[0-9]*' >>keys
    done
    [ "$(wc -l <keys)" = 6 ] && [ "$(cut -d= -f2 keys | sort -u | wc -l)" = 1 ] ||
        fail "$config: a key was loaded and not wiped"
}

configure cpu.cnf "$MODULE" engine=none route=cpu
configure gpu.cnf "$MODULE" engine="$ENGINE" "${PATIENT[@]}"
configure daemon.cnf "$MODULE" "${WITH_DAEMON[@]}" "${PATIENT[@]}" engine=none
start_daemon
each cpu.cnf cpu=6 "${valgrind[@]}"
each gpu.cnf "$engine_counter=6"
each daemon.cnf "$engine_counter=6" "${valgrind[@]}"
