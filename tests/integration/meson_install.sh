#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `meson install` puts where; nothing of the tests is among it.
. "$(dirname "$0")/lib.sh"

need meson pkg-config
[ -e "$BUILD_DIR/build.ninja" ] || skip "$BUILD_DIR was made elsewhere"
meson install -C "$BUILD_DIR" --no-rebuild --destdir "$work/root" >install.log
installed=$(cd root && find . -type f | sort)
modules=$(pkg-config --variable=modulesdir libcrypto)
for wanted in "$modules/warprsa.so" /bin/warprsa-stat /sbin/warprsad \
    /share/man/man8/warprsad.8 /lib/systemd/system/warprsad.service \
    /lib/systemd/system/warprsad.socket \
    /share/doc/warprsa/examples/warprsad.conf \
    /share/man/man1/warprsa-stat.1 /share/doc/warprsa/examples/openssl.cnf \
    /share/doc/warprsa/examples/nginx.conf \
    /share/doc/warprsa/examples/haproxy.cfg; do
    grep -qF "$wanted" <<<"$installed" || {
        echo "$installed"
        fail "$wanted was not installed"
    }
done
grep -rq '^ExecStart=/.*/sbin/warprsad ' root ||
    fail "the unit does not say where the program is"
if grep -E 'faulty|\.a$|\.h$' <<<"$installed"; then
    fail "installed, but should not be"
fi
