#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A module that is not there: default carries on without a word.
. "$(dirname "$0")/lib.sh"

configure missing.cnf "$work/there_is_no.so"
echo "to be signed" >message
rsa_key 2048 key.pem
CONF=missing.cnf with_provider dgst -sha256 -sign key.pem -out sig message
plain dgst -sha256 -verify key.pem.pub -signature sig message
[ ! -e provider.trace ] || fail "something was loaded all the same"
