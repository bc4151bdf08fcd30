# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# With WARPRSA_TEST_KEYS=vault lib.sh sources this at its end: the same test runs
# with keys of the daemon's vault. The test makes key files, and processes
# without the provider use them; those with it get a reference in the place of
# each.
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"

echo "* user=$ME sign decrypt padding=pkcs1,pss,tls,oaep,none digest=any" \
    >keys.conf
start_vault

# Puts a key file into the vault, if it is not there. Sets "reference" to a
# reference to it.
in_vault() { # KEY
    local name
    name=k$(sha256sum "$1" | cut -c1-32)
    reference=$work/$name.ref
    [ ! -e "$reference" ] || return 0
    install -m 600 "$1" "keys/$name.pem"
    reload_until "key $name: added"
    reference "$name"
}

use_keys() { # ARGUMENT...
    local argument
    arguments=()
    for argument in "$@"; do
        if [ -f "$argument" ] && grep -q 'PRIVATE KEY-----' "$argument"; then
            in_vault "$argument"
            argument=$reference
        fi
        arguments+=("$argument")
    done
}

# Checks that so many operations ran since this was last called, all on the
# engine, by the daemon's count: a client does not know the lengths of primes,
# nor what became of a use that has failed.
computed=0
expect_engine() { # BITS COUNT
    local now
    now=$(live "$daemon" "$engine_counter")
    [ $((now - computed)) = "$2" ] ||
        fail "the daemon has computed $((now - computed)) operations, not $2"
    computed=$now
    has_counted cpu 0 || fail "the daemon has refused operations"
    has_counted vault_libcrypto 0 || fail "libcrypto has computed"
    has_counted checks_failed 0 || fail "checks failed"
    expect_counters provider.trace cpu=0
}
