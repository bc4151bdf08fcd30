#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# HTTP/2 that breaks its rules (remote_frames.py): warprsad-gateway ends the
# connection or the stream, serves others meanwhile, and needs no more memory
# than before.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/gpu_host.sh"

need_python 'hpack, hyperframe' python3-h2

authority ca
certificate host ca DNS:gpu.example.org
certificate web ca DNS:web1.example.org
echo 'dns:web1.example.org sessions=60' >map
tls host
start_gpu_host host "${tls[@]}" --identities="$work/map"
memory() { # KiB
    awk '$1 == "VmRSS:" { print $2 }' "/proc/$(gateway_serving)/status"
}
serving_before=$(gateway_serving)
before=$(memory)
timeout 300 "$python" "$SOURCE_DIR/tests/integration/remote_frames.py" \
    "127.0.0.1:$port" ca.pem web.pem web.key || fail "see above"
after=$(memory)
[ "$(gateway_serving)" = "$serving_before" ] || fail "another process serves"
echo "memory: $before KiB before, $after KiB after"
# A sanitizer keeps what was freed; it reserves terabytes.
if [ "$(awk '$1 == "VmSize:" { print $2 }' "/proc/$(gateway_serving)/status")" -lt \
    1000000000 ]; then
    [ $((after - before)) -lt 16384 ] || fail "too much memory"
fi
terminate "$gateway"
