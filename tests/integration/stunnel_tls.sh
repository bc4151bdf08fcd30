#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conf/stunnel.conf and conf/stunnel-openssl.cnf as they stand, a real stunnel
# before a web server: TLS 1.3, TLS 1.2 and RSA key exchange, a hundred clients
# at once. Each handshake is one private operation on the engine, and there are
# batches although each thread waits for its operation.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"

prepare_stunnel
start_stunnel
handshakes 11443 4 -tls1_3
handshakes 11443 4 -tls1_2 -cipher AES128-GCM-SHA256
load 11443 --clients=100 --count=400
load 11443 --clients=100 --count=200 --tls=1.2 --cipher=AES256-GCM-SHA384
[ "$(ps -o user= -p "$stunnel")" = "$user" ] ||
    fail "stunnel is root"
stop_stunnel
expect_totals "$engine_counter=608" "${engine_counter}_2048=608" \
    cpu=0 checks_failed=0
# A GPU or the vector units answer too fast for large batches, and so does the
# engine "host" where the clients hardly get a CPU.
least=8
[ "$ENGINE" = host ] || least=2
[ "$(total batch_max)" -ge "$least" ] ||
    fail "no more than $(total batch_max) operations in a batch"
