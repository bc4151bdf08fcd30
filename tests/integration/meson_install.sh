#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where `meson install` puts which files, and how large they are. It installs
# nothing of the tests.
. "$(dirname "$0")/lib.sh"

need meson pkg-config
[ -e "$BUILD_DIR/build.ninja" ] || skip "$BUILD_DIR was made elsewhere"
meson install -C "$BUILD_DIR" --no-rebuild --strip --destdir "$work/root" \
    >install.log
installed=$(cd root && find . -type f | sort)
modules=$(pkg-config --variable=modulesdir libcrypto)
wanted=("$modules/warprsa.so" /bin/warprsa-{key,stat} /sbin/warprsad
    /sbin/warprsa-configure
    /lib/systemd/system/warprsad.{service,socket}
    /lib/systemd/system/warprsa-stat.{service,timer}
    /share/man/man1/warprsa-{key,stat}.1
    /share/man/man5/{keys,warprsad}.conf.5
    /share/man/man7/warprsa.7 /share/man/man8/{warprsad,warprsa-configure}.8
    /share/doc/warprsa/examples/{openssl.cnf,nginx.conf,haproxy.cfg}
    /share/doc/warprsa/examples/{apache.conf,stunnel.conf}
    /share/doc/warprsa/examples/{stunnel-openssl.cnf,warprsad.conf}
    /share/doc/warprsa/examples/{ca.cnf,keys.conf}
    /share/doc/warprsa/examples/apparmor/warprsad{,-engines})
if [ -x "$BUILD_DIR/batching/remote/warprsad-remote" ]; then
    wanted+=(/sbin/warprsad-{gateway,remote}
        /share/man/man8/warprsad-{gateway,remote}.8
        /lib/systemd/system/warprsad-gateway.service
        /share/warprsa/warprsa/v1/warprsa.proto
        /share/doc/warprsa/examples/warprsad-{gateway,remote,remote-dropin}.conf
        /share/doc/warprsa/examples/warprsad-remote.kubernetes.yaml
        /share/doc/warprsa/examples/haproxy-remote.cfg
        /share/doc/warprsa/examples/apparmor/warprsad-{gateway,remote})
fi
if [ -e "$BUILD_DIR/gpu/warprsa-cuda.so" ]; then
    wanted+=(/warprsa/warprsa-cuda.so)
fi
if [ -e "$BUILD_DIR/pkcs11/warprsa-pkcs11.so" ]; then
    wanted+=(/pkcs11/warprsa-pkcs11.so /share/p11-kit/modules/warprsa.module)
fi
for path in "${wanted[@]}"; do
    grep -q "${path//./\\.}\$" <<<"$installed" || {
        echo "$installed"
        fail "$path was not installed"
    }
done
[ "$(wc -l <<<"$installed")" -eq ${#wanted[@]} ] || {
    echo "$installed"
    fail "more was installed than ${wanted[*]}"
}
grep -rq '^ExecStart=/.*/sbin/warprsad ' root ||
    fail "the unit does not say where the program is"

# What is installed opens the engine for GPUs where that is installed.
need readelf strings
for file in "root$modules/warprsa.so" "$(find root -path '*/sbin/warprsad')"; do
    path=$(strings "$file" | grep '^/.*/warprsa/warprsa-cuda\.so$') ||
        fail "$file: no path of the engine for GPUs"
    [ ! -e "$BUILD_DIR/gpu/warprsa-cuda.so" ] || [ -e "root$path" ] ||
        fail "$file opens $path, which was not installed"
done

# The module and the daemon stay small, and the library of the engine for GPUs
# not too large with the kernels for all architectures.
cuda=$(find root -name warprsa-cuda.so)
if [ -n "$cuda" ]; then
    size=$(stat -c %s "$cuda")
    echo "$cuda: $size bytes"
    [ "$size" -le $((20 * 1024 * 1024)) ] || fail "it has more than 20 MiB"
fi
if grep -qE 'GCC: .* 1[6-9]\.' <<<"$(readelf -p .comment "$MODULE")"; then
    most=$((1024 * 1024 * 5 / 4)) # of the same source gcc 16 makes 1.10 MiB
else
    most=$((1024 * 1024))
fi
for file in "root$modules/warprsa.so" "$(find root -path '*/sbin/warprsad')"; do
    size=$(stat -c %s "$file")
    echo "$file: $size bytes"
    [ "$size" -le "$most" ] || fail "it has more than $most bytes"
done
