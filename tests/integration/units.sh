#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The units for systemd: it knows every setting, none of them leaves a service
# more than it needs, and the services work under those that could be in their
# way. There is no systemd here to start them, so the kernel is asked for the
# same: a /proc of processes alone, no memory that is both written and executed,
# a user namespace.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/gpu_host.sh"

warprsad=$BUILD_DIR/batching/daemon/warprsad
conf=$BUILD_DIR/conf

# The units under names of their own, so that nothing installed here is read
# along. Programs and manual pages need not be installed either.
unit() { # NAME PROGRAM
    sed "s|^ExecStart=/[^ ]*|ExecStart=$2|; /^Documentation=/d
        s/\bwarprsad\.s/unit-warprsad.s/g" "$conf/$1.service" \
        >"unit-$1.service"
}
sed '/^Documentation=/d' "$SOURCE_DIR/conf/warprsad.socket" >unit-warprsad.socket
unit warprsad "$warprsad"
unit warprsa-stat /bin/sh
units=(warprsad warprsa-stat)
if [ -x "$GATEWAY" ]; then
    unit warprsad-gateway "$GATEWAY"
    cp "unit-warprsad.service" unit-remote.service
    mkdir unit-remote.service.d
    sed "s|^ExecStart=/[^ ]*|ExecStart=$BUILD_DIR/batching/remote/warprsad-remote|" \
        "$conf/warprsad-remote-dropin.conf" >unit-remote.service.d/remote.conf
    units+=(warprsad-gateway remote)
fi

# The last value of a setting; an empty assignment takes the earlier ones back.
setting() { # UNIT NAME
    cat "unit-$1.service" "unit-$1.service.d/"*.conf 2>/dev/null |
        sed -n "s/^$2=//p" | tail -n 1
}
is() { # UNIT NAME VALUE
    [ "$(setting "$1" "$2")" = "$3" ] ||
        fail "$1: $2=$(setting "$1" "$2"), not $3"
}
for name in "${units[@]}"; do
    for yes in NoNewPrivileges MemoryDenyWriteExecute LockPersonality \
        PrivateMounts PrivateTmp ProtectClock ProtectHome ProtectHostname \
        ProtectControlGroups ProtectKernelLogs ProtectKernelModules \
        ProtectKernelTunables RestrictNamespaces RestrictRealtime \
        RestrictSUIDSGID; do
        is "$name" $yes yes
    done
    is "$name" ProtectSystem strict
    is "$name" KeyringMode private
    is "$name" LimitCORE 0
    is "$name" AmbientCapabilities ''
    [ -n "$(setting "$name" MemoryMax)" ] || fail "$name: no MemoryMax"
    [ -n "$(setting "$name" TasksMax)" ] || fail "$name: no TasksMax"
    # Whatever reads what the network sends has no priority over others.
    case $(setting "$name" RestrictAddressFamilies) in
    *AF_INET*) case $(setting "$name" Nice) in -*) fail "$name: Nice" ;; esac ;;
    esac
    case $name in
    warprsa-stat) ;;
    *)
        is "$name" CapabilityBoundingSet ''
        is "$name" MemorySwapMax 0
        is "$name" ProtectProc invisible
        ;;
    esac
done

if command -v systemd-analyze >/dev/null; then
    for name in "${units[@]}"; do
        # For an unknown setting it prints a warning and exits with 0.
        systemd-analyze verify --man=no "./unit-$name.service" >verify.log 2>&1 ||
            fail "$(cat verify.log)"
        ! grep unit- verify.log || fail "$(cat verify.log)"
        case $name in
        warprsad) most=10 ;;
        *) most=20 ;;
        esac
        systemd-analyze security --offline=true --threshold=$most --no-pager \
            "./unit-$name.service" >security.log ||
            fail "$(tail -n 3 security.log)"
        tail -n 1 security.log
    done
else
    echo "no systemd-analyze: the units were not parsed"
fi

# MemoryDenyWriteExecute=, by the kernel's own means, since Linux 6.3.
cat >confined.py <<'END'
import ctypes, os, sys
PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1
if ctypes.CDLL(None).prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0):
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])
END
cat >writes_and_executes.py <<'END'
import mmap
mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC)
END
python=$(command -v python3)
confined=("$python" "$work/confined.py")
if "${confined[@]}" /bin/true; then
    ! "${confined[@]}" "$python" writes_and_executes.py 2>/dev/null ||
        fail "memory can be written and executed"
else
    echo "no PR_SET_MDWE: memory may be written and executed"
    confined=(env)
fi

# ProcSubset=pid, with a namespace of mounts for it.
# shellcheck disable=SC2016
of_processes=(unshare -m sh -c
    'mount -t proc -o subset=pid proc /proc && exec "$@"' of_processes)
if "${of_processes[@]}" true 2>/dev/null; then
    [ "$("${of_processes[@]}" ls -d /proc/meminfo /proc/self 2>/dev/null)" = \
        /proc/self ] || fail "there is more than processes"
else
    echo "no namespaces of mounts: /proc has all"
    of_processes=(env)
fi

# warprsad, and a program that it computes for.
"${confined[@]}" "$warprsad" --engine="$ENGINE" --socket="$work/warprsad.sock" \
    --deadline-ms=600000 >daemon.log 2>&1 &
daemon=$!
servers+=("$daemon")
wait_for 120 grep -q ready daemon.log
rsa_key 2048 key.pem
: >provider.trace
sign() {
    with_provider dgst -sha256 -sign key.pem -out sig key.pem.pub
}
by_daemon sign

# warprsa-stat reads its counters.
stat=$BUILD_DIR/batching/warprsa-stat
"${of_processes[@]}" "${confined[@]}" "$stat" "$daemon" >counters
grep -E '(gpu|ifma)_2048 +1$' counters || fail "$(cat counters)"

# warprsad-gateway, as a user of a namespace of its own.
[ -x "$GATEWAY" ] || exit 0
authority ca
certificate server ca DNS:gpu.example.org
echo dns:web1.example.org >map
before_host=("${of_processes[@]}" "${confined[@]}")
if unshare --user true 2>/dev/null; then
    before_host+=("$(command -v unshare)" --user)
else
    echo "no user namespaces"
fi
tls server
start_gateway warprsad "${tls[@]}" --identities="$work/map"
