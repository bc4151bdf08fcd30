#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conf/stunnel.conf and conf/stunnel-openssl.cnf as they stand, a real stunnel
# before a web server: TLS 1.3, TLS 1.2 and RSA key exchange, a hundred clients
# at once. Each handshake is one private operation on the engine, and there are
# batches although each thread waits for its operation.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

prepare_threads stunnel4 stunnel.conf
user=stunnel4
getent passwd "$user" >/dev/null || {
    user=stunnel
    sed -i "s/^\(set.id =\) stunnel4/\1 $user/" stunnel.conf
}
{
    echo ".include $SOURCE_DIR/conf/stunnel-openssl.cnf"
    printf '%s\n' "[accelerator_section]" "module=$MODULE" \
        "engine=$ENGINE" "${PATIENT[@]}"
} >openssl.cnf
# Python's own web server queues five connections and drops the rest.
python3 - >http.log 2>&1 <<'END' &
import functools, http.server
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
Server(("127.0.0.1", 11080), functools.partial(
    http.server.SimpleHTTPRequestHandler, directory="htdocs")).serve_forever()
END
servers+=($!)
chmod 777 . # stunnel opens its log when it isn't root any more
"${with_configuration[@]}" stunnel4 "$work/stunnel.conf" >output.log 2>&1 &
stunnel=$!
servers+=("$stunnel")
wait_for 60 listening 11080
wait_for 60 listening 11443
handshakes 11443 4 -tls1_3
handshakes 11443 4 -tls1_2 -cipher AES128-GCM-SHA256
load 11443 --clients=100 --count=400
load 11443 --clients=100 --count=200 --tls=1.2 --cipher=AES256-GCM-SHA384
[ "$(ps -o user= -p "$stunnel")" = "$user" ] ||
    fail "stunnel is root"
kill "$stunnel"
wait "$stunnel" || :
expect_totals "$engine_counter=608" "${engine_counter}_2048=608" \
    cpu=0 checks_failed=0
# A GPU or the vector units answer too fast for large batches, and so does the
# engine "host" where the clients hardly get a CPU.
least=8
[ "$ENGINE" = host ] || least=2
[ "$(total batch_max)" -ge "$least" ] ||
    fail "no more than $(total batch_max) operations in a batch"
