#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conf/openssl.cnf itself, unchanged: the module is found in the modules
# directory, the machine has a GPU or not, the signature is right.
. "$(dirname "$0")/lib.sh"

echo "to be signed" >message
rsa_key 2048 key.pem
export OPENSSL_MODULES=$BUILD_DIR/provider
CONF=$SOURCE_DIR/conf/openssl.cnf \
    with_provider dgst -sha256 -sign key.pem -out sig message
plain dgst -sha256 -verify key.pem.pub -signature sig message
grep -q 'counters: ' provider.trace || fail "the provider was not loaded"
CONF=$SOURCE_DIR/conf/openssl.cnf with_provider list -providers -verbose \
    >providers
grep -q warprsa providers
grep -q 'status: active' providers
