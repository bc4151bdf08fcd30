#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The profiles for AppArmor: its parser takes them, they are of the paths that
# the packages have, and warprsad, warprsad-gateway and warprsad-remote work
# under them: by the kernel where that has AppArmor, and else by looking up what
# strace sees them open.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/gpu_host.sh"

need apparmor_parser
! grep -qE '__[at]san_init' <<<"$(nm "$MODULE")" || skip "a sanitizer's build"
here=$SOURCE_DIR/tests/integration
profiles=(warprsad)
[ ! -x "$GATEWAY" ] || profiles+=(warprsad-gateway warprsad-remote)

# directory BASE SBINDIR: a directory of profiles, as /etc/apparmor.d.
base() {
    mkdir "$1"
    cp -r /etc/apparmor.d/{abi,abstractions,tunables} "$1"
    for name in "${profiles[@]}" warprsad-engines; do
        sed "s|@sbindir@|$2|; s|@libdir@|/usr/lib/x86_64-linux-gnu|" \
            "$SOURCE_DIR/conf/apparmor/$name.in" >"$1/$name"
    done
    mv "$1/warprsad-engines" "$1/abstractions"
}
base installed /usr/sbin
for name in "${profiles[@]}"; do
    apparmor_parser --base installed -Q -K "installed/$name" 2>parser.log ||
        fail "$name: $(cat parser.log)"
    cmp <(sed 's|/usr/sbin|SBIN|' "installed/$name") \
        <(sed 's|/[^ ]*/sbin|SBIN|' "$BUILD_DIR/conf/apparmor/$name")
done

# The packages: each program that has a unit has a profile, of its path, in its
# own package and loaded by its scripts; and the other way round.
package_of() { # LINE: what installs it
    grep -lxF "$1" "$SOURCE_DIR"/debian/*.install |
        sed 's|.*/||; s|\.install$||'
}
programs=$(sed -n 's|^usr/sbin/\(warprsad.*\)|\1|p' "$SOURCE_DIR"/debian/*.install |
    sort)
[ "$programs" = "$(cd "$SOURCE_DIR/conf/apparmor" && grep -l '^profile ' ./*.in |
    sed 's|^\./||; s|\.in$||' | sort)" ] ||
    fail "there are profiles of other programs than $programs"
for name in $programs; do
    package=$(package_of "usr/sbin/$name")
    [ "$(package_of "build-package/conf/apparmor/$name etc/apparmor.d")" = \
        "$package" ] || fail "$package has $name and not its profile"
    grep -qx "	dh_apparmor -p$package --profile-name=$name" \
        "$SOURCE_DIR/debian/rules" || fail "nobody loads the profile of $name"
    grep -q "^profile $name @sbindir@/$name " \
        "$SOURCE_DIR/conf/apparmor/$name.in" || fail "$name: another path"
done
[ "$(package_of "build-package/conf/apparmor/warprsad-engines etc/apparmor.d/abstractions")" = \
    warprsad ] || fail "the abstraction is in another package"

# What they name elsewhere, and what CUDA opened on an H100 with driver 580.
cat >allowed <<END
r /etc/warprsa/warprsad.conf
rw $(sed -n 's/^ListenSequentialPacket=//p' "$SOURCE_DIR/conf/warprsad.socket")
rw $(sed -n 's/^#ListenSequentialPacket=//p' "$SOURCE_DIR/conf/warprsad.socket")
rw $(sed -n 's/^calibration_file = //p' "$SOURCE_DIR/conf/warprsad.conf")
w /var/cache/private/warprsa/calibration.new
m /usr/lib/x86_64-linux-gnu/warprsa/warprsa-cuda.so
m /usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04
m /usr/lib64/libcuda.so.580.159.04
m /usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.580.159.04
m /usr/local/nvidia/lib64/libcuda.so.580.159.04
rw /dev/nvidiactl
rw /dev/nvidia0
rw /dev/nvidia-uvm
rw /dev/nvidia-caps/nvidia-cap2
r /etc/warprsa/keys.conf
r /var/lib/
r /var/lib/private/warprsa/
r /var/lib/private/warprsa/keys/
r /var/lib/private/warprsa/keys/www.pem
r /run/credentials/warprsad.service/keys_passphrase
r /proc/702/task/
r /proc/702/cgroup
r /proc/702/maps
r /proc/702/status
w /proc/702/task/716/comm
r /proc/cpuinfo
r /proc/devices
r /proc/driver/nvidia/capabilities/gpu0/mig/gi1/access
r /proc/driver/nvidia/gpus/0000:00:06.0/numa_status
r /proc/driver/nvidia/params
r /proc/sys/crypto/fips_enabled
r /sys/devices/pci0000:00/0000:00:06.0/numa_node
r /sys/devices/system/cpu/online
r /sys/devices/system/memory/block_size_bytes
r /sys/devices/system/node/
r /sys/devices/system/node/node0/cpumap
r /sys/fs/cgroup/system.slice/warprsad.service/cpu.max
r /sys/module/nvidia_uvm/initstate
r /usr/share/nvidia/nvidia-application-profiles-rc
w /run/systemd/notify
END
cat >denied <<'END'
r /etc/shadow
r /root/.ssh/id_rsa
w /var/lib/private/warprsa/keys/www.pem
r /var/lib/private/other/key.pem
r /home/user/.bashrc
w /etc/warprsa/warprsad.conf
w /usr/lib/x86_64-linux-gnu/warprsa/warprsa-cuda.so
m /var/cache/warprsa/calibration
m /tmp/library.so
r /tmp/file
x /usr/bin/dash
x /usr/bin/nvidia-modprobe
rw /dev/sda
rw /dev/mem
w /dev/char/195:0
w /proc/sys/kernel/core_pattern
r /proc/1/environ
END
look_up() {
    python3 "$here/apparmor.py" "$@" || fail "apparmor.py $*"
}
look_up allows installed/warprsad installed allowed
look_up denies installed/warprsad installed denied
echo "r /etc/ssl/private/host.key" >key
look_up denies installed/warprsad installed key
if [ ${#profiles[@]} -gt 1 ]; then
    for name in warprsad-gateway warprsad-remote; do
        sed -n 's/^tls_[a-z]* = /r /p; s/^#*tls_crl = /r /p
            s/^identities = /r /p' "$SOURCE_DIR/conf/$name.conf" >files
        cat key files >theirs
        look_up allows "installed/$name" installed theirs
        grep -v nvidia-modprobe denied >others
        look_up denies "installed/$name" installed others
    done
    grep nvidia allowed >devices
    grep -v -e '^m' -e '^r /usr' devices >gpu
    look_up denies installed/warprsad-gateway installed gpu
fi

# At work. The same profiles, of the build's programs and this directory.
mkdir -p etc run/warprsa tls/run/warprsa
mkdir -p lib
mkdir -m 700 lib/keys
as_root "programs under a profile, and strace of them,"
libraries=$(dirname "$(realpath "$(ldd "$BUILD_DIR/batching/daemon/warprsad" |
    awk '$1 ~ /^libcrypto/ { print $3 }')")")
above= # rules for what lies above the directory of keys
directory=$work/lib/keys
while [ "$directory" != / ]; do
    directory=$(dirname "$directory")
    above="$above  ${directory%/}/ r,\n"
done
sed_paths="s|@{run}/warprsa|$work/run/warprsa|; s|/etc/warprsa|$work/etc|
    s|/var/lib/{,private/}warprsa/keys/|$work/lib/keys/|
    s|^profile |profile warprsa-test-|
    s|^}|  $libraries/** mr,\n  $work/*.log w,\n$above}|"
base here SBIN
for name in "${profiles[@]}"; do
    program=$BUILD_DIR/batching/remote/$name
    [ "$name" != warprsad ] || program=$BUILD_DIR/batching/daemon/$name
    sed -i "s|SBIN/$name|$program|; $sed_paths" "here/$name"
done
sed -i "$sed_paths" here/abstractions/warprsad-engines

enforced=
if [ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null)" = Y ] &&
    command -v aa-exec >/dev/null; then
    enforced=1
    at_end() {
        for name in "${profiles[@]}"; do
            apparmor_parser --base here -R "here/$name" 2>/dev/null || :
        done
    }
    for name in "${profiles[@]}"; do
        apparmor_parser --base here -r -K "here/$name" || enforced=
    done
fi
if [ -z "$enforced" ]; then
    echo "the kernel takes no profiles: what strace sees is looked up"
    need strace
    strace -qq -o true.trace true || skip "nothing can be traced here"
fi

# start NAME PROGRAM OPTION...: under its profile. Sets "process", and "started",
# which is strace if the kernel does not confine it.
start() {
    local name=$1 program=$2
    shift 2
    : >"$name.log"
    if [ -n "$enforced" ]; then
        aa-exec -p "warprsa-test-$name" -- "$program" "$@" >"$name.log" 2>&1 &
    else
        strace -f -y -qq -o "$name.trace" -e trace=%file,%network,mmap \
            "$program" "$@" >"$name.log" 2>&1 &
    fi
    started=$!
    servers+=("$started")
    wait_for 120 grep -q ready "$name.log"
    process=$started
    [ -n "$enforced" ] || process=$(pgrep -P "$started")
    # Before strace, which waits for it.
    servers=("$process" "${servers[@]}")
    [ -z "$enforced" ] || grep -qx "warprsa-test-$name (enforce)" \
        "/proc/$process/attr/current" || fail "$name is not confined"
}
stop() { # NAME PROCESS STARTED
    kill -TERM "$2"
    wait "$3" || fail "$1: status $?"
    [ -n "$enforced" ] || look_up trace "here/$1" here "$1.trace"
}

cp "$SOURCE_DIR/conf/warprsad.conf" etc/
sed -i '/^calibration_file/d' etc/warprsad.conf
rsa_key 2048 lib/keys/www.pem
chmod 600 lib/keys/www.pem
echo '* user=root sign padding=pkcs1 digest=any' >etc/keys.conf
start warprsad "$BUILD_DIR/batching/daemon/warprsad" --engine="$ENGINE" \
    --config="$work/etc/warprsad.conf" --deadline-ms=600000 \
    --keys-directory="$work/lib/keys" --keys-rules="$work/etc/keys.conf" \
    --socket="$work/run/warprsa/warprsad.sock"
grep -q 'key www: added' warprsad.log
! grep 'files of keys' warprsad.log || fail "the keys are not hidden"
warprsad=("$process" "$started")
rsa_key 2048 key.pem
: >provider.trace
configure openssl.cnf "$MODULE" mode=daemon "${PATIENT[@]}" \
    socket="$work/run/warprsa/warprsad.sock"
sign() {
    with_provider dgst -sha256 -sign key.pem -out sig key.pem.pub
}
by_daemon sign
"$BUILD_DIR/batching/key_tool/warprsa-key" \
    --socket "$work/run/warprsa/warprsad.sock" reference www >www.ref
with_provider dgst -sha256 -sign www.ref -out sig key.pem.pub
plain dgst -sha256 -verify lib/keys/www.pem.pub -signature sig key.pem.pub

if [ ${#profiles[@]} -gt 1 ]; then
    authority ca
    certificate server ca DNS:gpu.example.org,IP:127.0.0.1
    mv server.* ca.pem etc/
    echo dns:gpu.example.org >etc/identities
    tls=(--tls-certificate="$work/etc/server.pem"
        --tls-key="$work/etc/server.key" --tls-ca="$work/etc/ca.pem")
    start warprsad-gateway "$GATEWAY" --listen=127.0.0.1:0 "${tls[@]}" \
        --identities="$work/etc/identities" \
        --socket="$work/run/warprsa/warprsad.sock"
    gateway=("$process" "$started")
    port=$(sed -n 's/.*listening on .*, port //p' warprsad-gateway.log)
    start warprsad-remote "$BUILD_DIR/batching/remote/warprsad-remote" \
        --engine=host --devices=15 --deadline-ms=600000 "${tls[@]}" \
        --remote-hosts="127.0.0.1:$port" \
        --socket="$work/tls/run/warprsa/warprsad.sock"
    remote=("$process" "$started")
    configure openssl.cnf "$MODULE" mode=daemon "${PATIENT[@]}" \
        socket="$work/tls/run/warprsa/warprsad.sock"
    by_daemon sign
    stop warprsad-remote "${remote[@]}"
    stop warprsad-gateway "${gateway[@]}"
fi
stop warprsad "${warprsad[@]}"

# The control: what the profile does not name is refused, or found.
echo 'engine = none' >other.conf
if [ -n "$enforced" ]; then
    ! aa-exec -p warprsa-test-warprsad -- \
        "$BUILD_DIR/batching/daemon/warprsad" --config="$work/other.conf" \
        >refused.log 2>&1 || fail "it reads what it may not"
    grep -q 'other.conf: Permission denied' refused.log
else
    strace -f -y -qq -o other.trace -e trace=%file,%network,mmap \
        "$BUILD_DIR/batching/daemon/warprsad" --config="$work/other.conf" \
        >refused.log 2>&1 || :
    ! python3 "$here/apparmor.py" trace here/warprsad here other.trace \
        >found.log || fail "what it may not read was not found"
    grep "denies r $work/other.conf" found.log || fail "$(cat found.log)"
fi
