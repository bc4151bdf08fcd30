#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In a bare chroot: installs the packages in /packages as an administrator
# would, switches the provider on, signs by the engine in the process and by the
# daemon, and purges everything. For scripts/test-packages.
#   use.sh [warprsa-cuda]
# That package is installed with the others, as on a machine that gets a GPU.
set -eu
cd /tmp
provider=openssl-provider-warprsa
cuda=${1:-}

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# All there is but what apt and dpkg note for themselves, and the copies of old
# user databases that the programs keep which change these.
everything() {
    find / -xdev \( -path /proc -o -path /tmp -o -path /packages -o \
        -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o \
        -path /var/log -o -path /dev -o -path '/etc/*shadow-' -o \
        -path /etc/passwd- -o -path /etc/group- \) -prune -o -print | sort
    cat /etc/passwd /etc/group
}

install_from_here() { # PACKAGE...
    for package; do
        set -- "$@" "/packages/${package}_"*.deb
        shift
    done
    apt-get install -q -y --no-install-recommends "$@"
}

install_all() {
    install_from_here "$provider" warprsa-tools warprsad warprsad-remote \
        warprsa-pkcs11
    [ -z "$cuda" ] || install_from_here "$cuda"
}

is_at_most() { # MIB FILE
    size=$(stat -c %s "$2")
    echo "$2 has $size bytes"
    [ "$size" -le $(($1 << 20)) ] || fail "more than $1 MiB"
}

# The module is small, and only the engine's library is large.
check_sizes() {
    is_at_most 1 "$(openssl version -m | cut -d '"' -f 2)/warprsa.so"
    set -- /usr/lib/*/warprsa/warprsa-cuda.so
    if [ -n "$cuda" ]; then
        is_at_most 20 "$1"
    elif [ -e "$1" ]; then
        fail "there is $1"
    fi
}

purge_all() {
    apt-get purge -q -y "$provider" warprsa-tools warprsad \
        warprsad-remote warprsa-pkcs11 ${cuda:+"$cuda"}
}

# start NAME COMMAND...: as the user of the service; its process is $started then.
start() {
    name=$1
    user=warprsad
    shift
    if [ "$1" = warprsad-gateway ]; then
        user=warprsa-gateway
    else
        set -- "$@" --calibration-file=none
    fi
    : >"$name.log" # an earlier one of this name has written there, too
    setpriv --reuid "$user" --regid warprsa --clear-groups "$@" \
        >"$name.log" 2>&1 &
    started=$!
    for _ in $(seq 600); do
        ! grep -q ready "$name.log" || return 0
        sleep 0.1
    done
    fail "$name: $(cat "$name.log")"
}

stop() { # NAME PROCESS
    kill "$2"
    wait "$2" || fail "$1: $(cat "$1.log")"
}

# A key signs, and the counter shows where: at another attempt only if the daemon
# was late, and the program has computed itself.
signs() { # COUNTER
    for _ in 1 2 3 4 5; do
        WARPRSA_TRACE=stderr openssl dgst -sha256 -sign key.pem \
            -out signature key.pem 2>trace ||
            fail "no signature: $(cat trace)"
        OPENSSL_CONF=/dev/null openssl dgst -sha256 -verify public.pem \
            -signature signature key.pem
        ! grep -q " $1 " trace || return 0
        grep -q ' cpu_no_device=1 ' trace || break
    done
    fail "wanted $1 in: $(cat trace)"
}

settings() { # KEY=VALUE...
    printf '%s\n' '[warprsa_section]' "$@" >/etc/warprsa/provider.cnf
}

apt-get update -q
# What the packages need stays when they go: it is no part of them.
apt-get install -q -y --no-install-recommends openssl \
    systemd-standalone-sysusers systemd-standalone-tmpfiles \
    libnghttp2-14 ssl-cert
cp /etc/ssl/openssl.cnf original.cnf
openssl genpkey -algorithm RSA -out key.pem 2>/dev/null
openssl pkey -in key.pem -pubout -out public.pem
everything >before

install_all
check_sizes
cmp original.cnf /etc/ssl/openssl.cnf
! openssl list -providers | grep -q warprsa || fail "it is on by itself"
warprsa-stat --version
getent passwd warprsad
getent group warprsa
[ -d /run/warprsa ] || fail "no /run/warprsa"
for name in warprsad warprsad-gateway warprsad-remote; do
    grep -q "^profile $name /usr/sbin/$name " "/etc/apparmor.d/$name" ||
        fail "no profile of $name"
    [ -e "/etc/apparmor.d/local/$name" ] || fail "no place for what is local"
done
grep -q ' /usr/lib/.*-linux-gnu/warprsa/warprsa-cuda.so mr,' \
    /etc/apparmor.d/abstractions/warprsad-engines ||
    fail "the profiles don't name the engine for GPUs"
! dpkg-query -W -f '${Status}\n' systemd 2>/dev/null | grep -q ' installed$' ||
    fail "a package pulls in systemd"
[ -r "/usr/share/doc/$provider/warprsa.cnf" ]

warprsa-configure enable
openssl list -providers | grep -qx '  warprsa'
settings engine=host route=gpu startup_ms=60000 deadline_ms=60000
signs gpu_2048=1
# Without a GPU the CPU computes, and the reason is named.
settings engine=cuda route=gpu startup_ms=60000
signs cpu_no_device=1
if [ -n "$cuda" ]; then
    grep 'no driver (libcuda.so.1) is installed' trace
else
    grep 'no CUDA library is installed: /usr/lib/' trace
fi

start daemon warprsad --config /etc/warprsa/warprsad.conf --engine=host \
    --socket=/tmp/warprsad.sock
daemon=$started
settings mode=daemon route=gpu socket=/tmp/warprsad.sock startup_ms=60000 \
    deadline_ms=60000
signs gpu_2048=1
# It may have computed one that was late, too.
warprsa-stat "$daemon" | grep 'gpu_2048  *[1-9]'
warprsa-configure status
stop daemon "$daemon"

# The PKCS #11 module has its libcrypto inside, and p11-kit finds it.
set -- /usr/lib/*/pkcs11/warprsa-pkcs11.so
! ldd "$1" | grep libcrypto || fail "$1 is linked with the shared libcrypto"
grep 'warprsa-pkcs11.so' /usr/share/p11-kit/modules/warprsa.module

# warprsad has nothing of the network. One host computes for another.
! ldd /usr/sbin/warprsad | grep -E 'libnghttp2|libssl' ||
    fail "warprsad is linked with the network"
ldd /usr/sbin/warprsad-remote | grep libnghttp2
ldd /usr/sbin/warprsad-gateway | grep libnghttp2
id warprsa-gateway
[ -r /usr/share/doc/warprsad-remote/examples/warprsad-remote-dropin.conf ]
[ -r /etc/warprsa/warprsad-remote.conf ]
[ -r /etc/warprsa/warprsad-gateway.conf ]
[ -r /lib/systemd/system/warprsad-gateway.service ] ||
    [ -r /usr/lib/systemd/system/warprsad-gateway.service ]
OPENSSL_CONF=/dev/null openssl req -x509 -newkey rsa:2048 -nodes \
    -keyout host.key -out host.pem -subj /CN=host -days 2 \
    -addext subjectAltName=IP:127.0.0.1,DNS:host \
    -addext extendedKeyUsage=serverAuth,clientAuth 2>/dev/null
cp host.key gateway.key
chown warprsad host.key
chown warprsa-gateway gateway.key
echo dns:host >identities
start host warprsad --engine=host --socket=/tmp/host.sock
host=$started
start gateway warprsad-gateway --socket=/tmp/host.sock --listen=127.0.0.1:0 \
    --identities=/tmp/identities --tls-certificate=/tmp/host.pem \
    --tls-key=/tmp/gateway.key --tls-ca=/tmp/host.pem
gateway=$started
port=$(sed -n 's/.*listening on 127.0.0.1, port //p' gateway.log)
start daemon warprsad-remote --engine=host --devices=15 \
    --socket=/tmp/warprsad.sock --remote-hosts="127.0.0.1:$port" \
    --tls-certificate=/tmp/host.pem --tls-key=/tmp/host.key \
    --tls-ca=/tmp/host.pem
signs gpu_2048=1
# It has computed the known answers, too.
warprsa-stat "$host" | grep 'gpu_2048  *[1-9]'
stop daemon "$started"
stop gateway "$gateway"
stop host "$host"

warprsa-configure disable
cmp original.cnf /etc/ssl/openssl.cnf
rm /etc/warprsa/provider.cnf
purge_all
everything >after
diff before after || fail "something is left"

# Purged while it is still on: OpenSSL goes on without it.
install_all
warprsa-configure enable
purge_all
openssl list -providers
openssl dgst -sha256 -sign key.pem -out signature key.pem
openssl dgst -sha256 -verify public.pem -signature signature key.pem
[ ! -e /etc/warprsa ] || fail "something is left: $(ls /etc/warprsa)"
cmp original.cnf /etc/ssl/openssl.cnf
[ "$(echo /etc/ssl/openssl.cnf*)" = /etc/ssl/openssl.cnf ] ||
    fail "something is left: $(echo /etc/ssl/openssl.cnf*)"
