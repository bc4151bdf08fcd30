#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A module that does not exist: the default provider serves, without an error.
. "$(dirname "$0")/lib.sh"

configure missing.cnf "$work/there_is_no.so"
rsa_key 2048 key.pem
CONF=missing.cnf sign_and_verify key.pem
[ ! -e provider.trace ] || fail "something was loaded all the same"
