#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 64 processes of 64 users at once, all in the socket's group; a process that is
# not in the group; a user with more processes than one user may have, which keeps
# no other user out; and the ids that a user may take in a user namespace, which
# are that user.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

need setpriv
as_root "processes of other users"
group=$(getent group nogroup | cut -d: -f1)
[ -n "$group" ] || skip "no group nogroup here"
start_daemon --group "$group"
gid=$(getent group "$group" | cut -d: -f3)
rsa_key 1024 key.pem
# These users may have no access to the build folder.
cp "$MODULE" warprsa.so
configure openssl.cnf "$work/warprsa.so" "${WITH_DAEMON[@]}" "${PATIENT[@]}"
chmod a+rX . ./*.pem ./*.pub openssl.cnf warprsa.so

sign_as() { # USER GROUP
    echo "message of $1" >"message.$1"
    : >"sig.$1"
    : >>"$1.trace"
    chmod 666 "sig.$1" "$1.trace"
    OPENSSL_CONF=$work/openssl.cnf WARPRSA_TRACE=file:$work/$1.trace \
        setpriv --reuid "$1" --regid "$2" --clear-groups \
        "$OPENSSL" dgst -sha256 -sign key.pem -out "sig.$1" "message.$1" &&
        plain dgst -sha256 -verify key.pem.pub -signature "sig.$1" \
            "message.$1" >/dev/null
}

# A process that gets no answer in time, since the daemon has no CPU, computes
# itself: its user tries again.
be_served_as() { # USER GROUP
    local end=$((SECONDS + 60))
    while [ "$SECONDS" -lt "$end" ]; do
        sign_as "$@" || return 1
        ! grep -q "counters: .* $engine_counter=1 " "$1.trace" || return 0
    done
    return 1
}

clients=()
for ((i = 0; i < 64; i++)); do
    be_served_as $((61000 + i)) "$gid" &
    clients+=($!)
done
for client in "${clients[@]}"; do
    wait "$client" || fail "a client failed, or was not served"
done
cat 610*.trace >provider.trace
[ "$(total "$engine_counter")" = 64 ] &&
    [ "$(total cpu)" = "$(total cpu_no_device)" ] ||
    fail "$(total "$engine_counter") by the daemon, $(total cpu) by themselves"
users=$(grep -o 'user 610[0-9]*) connected' daemon.log | sort -u | wc -l)
[ "$users" = 64 ] || fail "the log names $users users, not 64"

sign_as 62000 62000 || fail "a user outside the group can't sign at all"
cat 62000.trace >provider.trace
[ "$(total "$engine_counter")" = 0 ] && [ "$(total cpu_no_device)" = 1 ] ||
    fail "a user outside the group was served"
grep -q "warprsad.sock: Permission denied: its group is $group ($gid), and user \
62000 is not in it" provider.trace || fail "which group does it lack?"
[ "$(live "$daemon" "$engine_counter")" -ge 64 ]
wait_for 60 has_counted keys 0

terminate "$daemon"
start_daemon --group "$group" --user-clients=2
OPENSSL_CONF=$work/openssl.cnf setpriv --reuid 61000 --regid "$gid" \
    --clear-groups "$OPENSSL" speed -elapsed -seconds 6 -multi 4 rsa1024 \
    >speed.log 2>&1 &
speed=$!
servers+=("$speed")
wait_for 60 grep -q 'user 61000) is refused: this user has' daemon.log
: >61001.trace
be_served_as 61001 "$gid" || fail "the other user can't sign"
# It may have been late, but not refused.
! grep 'user 61001) is refused' daemon.log | grep -v 'it has gone' &&
    grep -q 'user 61001) connected' daemon.log ||
    fail "the other user is kept out"
wait "$speed" || fail "$(tail -n 5 speed.log)"
terminate "$daemon"

if ! may_have_subuids; then
    echo "no /etc/subuid or namespaces here: users with several ids left out"
    exit 0
fi
start_daemon_with_subuids 62001:62100:10 --group "$group"
for user in 62001 62100 62109 62110; do
    : >"$user.trace"
    be_served_as "$user" "$gid" || fail "user $user can't sign"
done
for user in 62001 62110; do
    grep -q "user $user) connected" daemon.log || fail "who was user $user?"
done
! grep -E 'user 6210[0-9])' daemon.log || fail "user 62001 has other names"
