#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conf/openssl.cnf itself, unchanged: the module is found in the modules
# directory, and the signature is right, whether the machine has a GPU or not.
. "$(dirname "$0")/lib.sh"

rsa_key 2048 key.pem
export OPENSSL_MODULES=$BUILD_DIR/provider
CONF=$SOURCE_DIR/conf/openssl.cnf sign_and_verify key.pem
grep -q 'counters: ' provider.trace || fail "the provider was not loaded"
CONF=$SOURCE_DIR/conf/openssl.cnf with_provider list -providers -verbose \
    >providers
grep -q warprsa providers
sed -n '/^  warprsa/,/status:/p' providers | grep 'status: active'
