#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conf/nginx.conf as it stands, a real nginx: TLS 1.3 and TLS 1.2 handshakes,
# before and after a reload, each a private operation on the engine.
. "$(dirname "$0")/lib.sh"

need nginx
[ "$(id -u)" -eq 0 ] || skip "nginx's own directories want root"
cp "$SOURCE_DIR/conf/nginx.conf" .
rsa_key 2048 key.pem
self_signed key.pem certificate.pem
chmod 755 "$work"

run_nginx() {
    OPENSSL_CONF=$work/openssl.cnf WARPRSA_TRACE=file:$work/provider.trace \
        nginx -p "$work" -c "$work/nginx.conf" -g 'user root;' "$@"
}
stop_nginx() {
    local pid
    pid=$(cat nginx.pid 2>/dev/null) || return 0
    kill -QUIT "$pid"
    wait_for 60 gone "$pid"
}
gone() {
    ! kill -0 "$1" 2>/dev/null
}
at_end() {
    stop_nginx
}

run_nginx
wait_for 30 test -s nginx.pid
handshakes 8443 4 -tls1_3
handshakes 8443 4 -tls1_2 -cipher AES128-GCM-SHA256
run_nginx -s reload
handshakes 8443 4 -tls1_3
handshakes 8443 4 -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256
stop_nginx
if grep -E '\[(alert|crit|emerg)\]' error.log; then
    fail "nginx complains"
fi
expect_totals gpu=16 gpu_2048=16 cpu=0 checks_failed=0
