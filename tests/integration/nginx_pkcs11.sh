#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nginx by pkcs11-provider with a key of the daemon, which a file with its URI
# names, and `store:` where nginx has it. Workers are another user than the
# master, and each has a connection of its own to the daemon. The recipe of
# doc/pkcs11.md.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/pkcs11_provider.sh"

need nginx
as_root nginx
certified www 2048
# The master loads the key, and its workers use it. A key that may sign by PSS
# alone is one of another type to pkcs11-provider, which nginx does not load.
printf '%s\n' "www user=$ME sign padding=pss,pkcs1 digest=any" \
    "www user=www-data sign padding=pss,pkcs1 digest=any" >keys.conf
start_vault --group=www-data
chmod 755 .

has_store() { # since 1.29.0
    [ "$(printf '%s\n' 1.29.0 "$(nginx -v 2>&1 | sed 's/.*nginx.//')" |
        sort -V | head -n 1)" = 1.29.0 ]
}
serve_nginx() { # KEY
    cat >nginx.conf <<END
daemon off;
user www-data;
worker_processes 2;
pid $work/nginx.pid;
error_log $work/nginx.log;
env WARPRSA_SOCKET;
events {
    worker_connections 64;
}
http {
    access_log off;
    ssl_session_tickets off;
    server {
        listen 127.0.0.1:8443 ssl;
        ssl_certificate www.crt;
        ssl_certificate_key "$1";
        location / {
            return 200 "ok\n";
        }
    }
}
END
    OPENSSL_CONF=$work/provider.cnf nginx -e "$work/nginx.log" -p "$work" \
        -c "$work/nginx.conf" >nginx.out 2>&1 &
    nginx=$!
    servers+=("$nginx")
    wait_for 60 is_listening
}
is_listening() {
    (exec 3<>/dev/tcp/127.0.0.1/8443)
}
four_handshakes() {
    shakes 8443 -tls1_3
    shakes 8443 -tls1_3
    shakes 8443 -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256
    shakes 8443 -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256
}

keys_named=("www.uri.pem")
! has_store || keys_named+=("store:$WWW")
for key in "${keys_named[@]}"; do
    serve_nginx "$key"
    uses 4 four_handshakes
    kill "$nginx"
    wait "$nginx" || fail "nginx: status $?"
done
[ "$(live "$daemon" checks_failed)" = 0 ] || fail "checks failed"
terminate "$daemon"
grep -q "key www: user $(id -u www-data): $((4 * ${#keys_named[@]})) uses" \
    daemon.log || fail "not by the workers' user"
