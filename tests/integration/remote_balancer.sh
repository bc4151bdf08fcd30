#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Balancers that are not ours in front of the gateway: HAProxy, which passes
# TLS through, as conf/haproxy-remote.cfg has it, and nginx with grpc_pass,
# which ends TLS. A host behind HAProxy is killed; new sessions go to the other
# one.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/gpu_host.sh"

need haproxy nginx
need_grpc

authority ca
certificate host ca DNS:gpu.example.org
certificate web ca DNS:web1.example.org
certificate proxy ca DNS:gpu.example.org,DNS:proxy.example.org
rsa_key 2048 key.pem
printf 'dns:web1.example.org\ndns:proxy.example.org\n' >map

host() { # NUMBER: its gateway is process[NUMBER], its port ports[NUMBER]
    tls host
    start_gpu_host "host$1" "${tls[@]}" --identities="$work/map" \
        --deadline-ms=60000
    process[$1]=$gateway
    ports[$1]=$port
}
process=()
ports=()
host 1
host 2

free_port() {
    "$python" -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

client() { # PORT WHAT [ARGUMENT...]
    local port=$1
    shift
    timeout 120 "$python" "$SOURCE_DIR/tests/integration/remote_client.py" \
        "127.0.0.1:$port" "$work" ca.pem web.pem web.key "$@" 2>>client.log
}

port=$(free_port)
sed "s|0.0.0.0:7444|127.0.0.1:$port|
    s|gpu1.example.org:7443|127.0.0.1:${ports[1]}|
    s|gpu2.example.org:7443|127.0.0.1:${ports[2]}|" \
    "$SOURCE_DIR/conf/haproxy-remote.cfg" >haproxy.cfg
haproxy -c -f haproxy.cfg >haproxy.log 2>&1 || fail "$(cat haproxy.log)"
haproxy -db -f haproxy.cfg >>haproxy.log 2>&1 &
servers+=("$!")
wait_for 30 client "$port" health
for _ in 1 2 3 4; do
    client "$port" sign key.pem 20
done
for number in 1 2; do
    grep -q 'web1.example.org): session has ended: 20 operations' \
        "host$number.gateway.log" || fail "host $number has no session"
done
kill -KILL "${process[2]}"
wait "${process[2]}" 2>/dev/null || :
wait_for 60 client "$port" sign key.pem 20
for _ in 1 2 3; do
    wait_for 10 client "$port" sign key.pem 20
done

# nginx is the server's client: it needs a certificate and sees everything.
port=$(free_port)
cat >nginx.conf <<END
pid $work/nginx.pid;
error_log $work/nginx.log;
daemon off;
events {}
http {
    access_log off;
    client_body_temp_path $work/body;
    proxy_temp_path $work/proxy;
    fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi;
    scgi_temp_path $work/scgi;
    server {
        listen 127.0.0.1:$port ssl http2;
        ssl_certificate $work/proxy.pem;
        ssl_certificate_key $work/proxy.key;
        ssl_client_certificate $work/ca.pem;
        ssl_verify_client on;
        client_max_body_size 0;
        location / {
            grpc_pass grpcs://127.0.0.1:${ports[1]};
            grpc_ssl_protocols TLSv1.3;
            grpc_ssl_certificate $work/proxy.pem;
            grpc_ssl_certificate_key $work/proxy.key;
            grpc_ssl_trusted_certificate $work/ca.pem;
            grpc_ssl_verify on;
            grpc_ssl_name gpu.example.org;
        }
    }
}
END
nginx -e nginx.log -p "$work" -c "$work/nginx.conf" >nginx.out 2>&1 &
servers+=("$!")
wait_for 30 client "$port" health
client "$port" sign key.pem 300
grep -Eq '(gpu|proxy).example.org\): session has ended: 300 operations' \
    host1.gateway.log || fail "the session is not nginx's"
