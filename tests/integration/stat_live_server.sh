#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# warprsa-stat says of a running server whether it uses the GPU.
. "$(dirname "$0")/lib.sh"

stat=$BUILD_DIR/batching/warprsa-stat
rsa_key 2048 key.pem
self_signed key.pem certificate.pem
serve_with_provider -naccept 3
handshakes "$port" 2

"$stat" "$server" >stat.log
head -n 1 stat.log
grep -qE "^ *${engine_counter}_2048[ :=]+2\$" stat.log
grep -qE '^ *cpu[ :=]+0$' stat.log
"$stat" >stat.log
grep -q "$server" stat.log
"$stat" --json >stat.json
if command -v python3 >/dev/null; then
    python3 - "$server" "$ENGINE" "${engine_counter}_2048" <<'END'
import json, sys
mine = [p for p in json.load(open("stat.json")) if p["pid"] == int(sys.argv[1])]
assert len(mine) == 1 and mine[0][sys.argv[3]] == 2, mine
assert mine[0]["using_gpu"] == (sys.argv[2] == "cuda"), mine
assert mine[0]["using_ifma"] == (sys.argv[2] == "ifma"), mine
END
fi

# A process that does not use the provider, and a PID that does not exist.
! "$stat" $$ 2>error.log || fail "this shell uses the provider?"
grep -q "$$" error.log
! "$stat" 4194303 2>error.log || fail "there is no process 4194303"
grep -q 'does not exist' error.log

# A file with the name of a block of counters, and its contents, is none: only a
# memory file is read.
fake=/memfd:warprsa-counters.$$
if [ "$(id -u)" -eq 0 ] && [ "$(stat -f -c %T /)" != tmpfs ]; then
    for fd in "/proc/$server/fd/"*; do
        case $(readlink "$fd") in
        /memfd:warprsa-counters*) cp "$fd" "$fake" ;;
        esac
    done
    exec 9<"$fake"
    rm "$fake"
    ! "$stat" $$ 2>error.log || fail "this shell uses the provider?"
    grep -q 'does not use' error.log || fail "$(cat error.log)"
    exec 9<&-
fi

handshakes "$port" 1
wait "$server" || :
expect_engine 2048 3
