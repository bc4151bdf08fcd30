# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The recipes of doc/vault.md, as they stand; sourced after vault.sh. Their keys
# are in keys/, and whoever scans memory knows these from there.

: "${KEY_TOOL:?vault.sh comes first}" "${engine_counter:?}" "${work:?}"

# The two blocks of a recipe: the rules, which name who may sign, and commands.
recipe_rules() { # NAME
    recipe_lines "$1" | grep ' user='
}

recipe_commands() { # NAME
    recipe_lines "$1" | grep -v ' user='
}

recipe_lines() { # NAME
    sed -n "/^<!-- recipe: $1 -->\$/,/^<!-- end -->\$/s/^    //p" \
        "$SOURCE_DIR/doc/vault.md" >recipe.txt
    [ -s recipe.txt ] || fail "doc/vault.md has no recipe $1"
    cat recipe.txt
}

# Programs of the recipes find the daemon of the test.
mkdir bin
cat >bin/warprsa-key <<END
#!/bin/sh
exec "$KEY_TOOL" --socket "$work/warprsad.sock" "\$@"
END
chmod +x bin/warprsa-key
export PATH="$work/bin:$PATH"

run_recipe() { # NAME [SED-SCRIPT]: with what is called otherwise here
    recipe_commands "$1" | sed "${2:-}" >commands.sh
    OPENSSL_CONF=$work/openssl.cnf bash -e commands.sh >recipe.log 2>&1 ||
        fail "recipe $1: $(cat recipe.log)"
}

# Looks for a key in the memory of processes. Exit status 1: none has any of it.
scanned() { # KEY PROCESS...
    local status=0
    OPENSSL=$OPENSSL python3 "$SOURCE_DIR/tests/integration/scan_memory.py" \
        "$@" >scan.log || status=$?
    [ "$status" != 2 ] || skip "the memory of processes can't be read here"
    [ "$(grep -c 'KiB read' scan.log)" = $(($# - 1)) ] || fail "$(cat scan.log)"
    ! grep ': 0 KiB read' scan.log || fail "no memory was read"
    return "$status"
}

# has_no_key KEY PROCESS...: none of a key's private numbers is in the memory of
# any of these.
has_no_key() {
    ! scanned "$@" || fail "$1 is in memory: $(cat scan.log)"
}

# has_key KEY PROCESS...: the control. Each process has all numbers that a program
# with an ordinary key keeps.
has_key() {
    local pid name
    scanned "$@" || fail "$1 is in no process: $(cat scan.log)"
    for pid in "${@:2}"; do
        for name in prime1 prime2 exponent1 exponent2 coefficient; do
            grep -q "^process $pid: $name, " scan.log ||
                fail "$name is not found in process $pid: $(cat scan.log)"
        done
    done
}

# used COUNT: so many uses, all of them computed by the engine.
used() {
    local name
    for name in vault_uses "$engine_counter"; do
        [ "$(live "${daemon:?}" "$name")" = "$1" ] ||
            fail "$name is $(live "${daemon:?}" "$name"), not $1"
    done
    for name in vault_libcrypto vault_denials vault_late checks_failed; do
        [ "$(live "${daemon:?}" "$name")" = 0 ] ||
            fail "$name is $(live "${daemon:?}" "$name")"
    done
}
