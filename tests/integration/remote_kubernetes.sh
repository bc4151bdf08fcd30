#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The manifest for Kubernetes: its names are those of Kubernetes' schema, where
# `kubernetes-validate` (PyPI) is there; and the configuration files in it, with
# this machine's paths and addresses, make a GPU host and a TLS host that uses
# it.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/certificates.sh"

manifest=$SOURCE_DIR/conf/warprsad-remote.kubernetes.yaml
need_python yaml python3-yaml
"$python" - "$manifest" <<'END'
import sys, yaml
with open(sys.argv[1]) as file:
    documents = list(yaml.safe_load_all(file))
for one in documents:
    if one["kind"] != "ConfigMap":
        continue
    for name, text in one["data"].items():
        with open(one["metadata"]["name"] + "." + name, "w") as file:
            file.write(text)
names = {(d["kind"], d["metadata"]["name"]) for d in documents}
for one in documents:
    pod = one["spec"].get("template") if "spec" in one else None
    if pod is None:
        continue
    assert one["spec"]["selector"]["matchLabels"].items() <= \
        pod["metadata"]["labels"].items(), one["metadata"]
    volumes = {v["name"]: v for v in pod["spec"]["volumes"]}
    for volume in volumes.values():
        if "configMap" in volume:
            assert ("ConfigMap", volume["configMap"]["name"]) in names, volume
    for container in pod["spec"]["containers"]:
        for mount in container["volumeMounts"]:
            assert mount["name"] in volumes, mount
END

if command -v kubernetes-validate >/dev/null; then
    schema() { # FILE: kubernetes-validate ends with 0 whatever it found
        kubernetes-validate --strict "$1" >schema.log 2>&1 &&
            ! grep -q '^ERROR' schema.log
    }
    schema "$manifest" || fail "$(cat schema.log)"
    [ "$(grep -c 'passed for resource' schema.log)" = \
        "$(grep -c '^kind:' "$manifest")" ] || fail "$(cat schema.log)"
    sed 's/terminationGracePeriodSeconds/terminationGraceSeconds/' \
        "$manifest" >wrong.yaml
    ! schema wrong.yaml || fail "the schema takes any name"
else
    echo "no kubernetes-validate: the schema left out"
fi

authority ca
certificate gpu ca IP:127.0.0.1
certificate tls ca DNS:warprsad-tls.default.svc
# here ROLE PROGRAM SED_OPTION...: the configuration that the program has in that
# role, for this machine, in ROLE.PROGRAM.conf.
here() {
    local role=$1 program=$2
    shift 2
    sed -e "s|/run/tls/tls|$work/$role|; s|$role.crt|$role.pem|" \
        -e "s|/run/tls/ca.crt|$work/ca.pem|" \
        -e "s|/etc/warprsa/identities|$work/warprsad-gpu.identities|" "$@" \
        "warprsad-$role.$program.conf" >"$role.$program.conf"
}
here gpu warprsad -e 's/^engine = cuda$/engine = host/'
grep -q '^engine = host$' gpu.warprsad.conf || fail "the manifest names no engine"
"$BUILD_DIR/batching/daemon/warprsad" --config="$work/gpu.warprsad.conf" \
    --socket="$work/gpu.sock" >gpu.log 2>&1 &
servers+=("$!")
here gpu warprsad-gateway -e 's/0.0.0.0:7443/127.0.0.1:0/'
"$BUILD_DIR/batching/remote/warprsad-gateway" \
    --config="$work/gpu.warprsad-gateway.conf" --socket="$work/gpu.sock" \
    >gateway.log 2>&1 &
servers+=("$!")
wait_for 120 grep -q 'ready: warprsad' gateway.log
port=$(sed -n 's/.*listening on 127.0.0.1, port //p' gateway.log)
here tls warprsad-remote -e "s/^remote_hosts = .*/remote_hosts = 127.0.0.1:$port/"
"$BUILD_DIR/batching/remote/warprsad-remote" \
    --config="$work/tls.warprsad-remote.conf" --engine=host --devices=15 \
    --socket="$work/tls.sock" >tls.log 2>&1 &
servers+=("$!")
wait_for 60 grep -qF "in use, 127.0.0.1:$port" tls.log
