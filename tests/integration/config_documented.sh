#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every parameter of the provider is in conf/openssl.cnf and in README.md, with
# the same default in both, and the provider takes all of these defaults.
. "$(dirname "$0")/lib.sh"

traced() { # FILE: what the provider says of a configuration
    # shellcheck disable=SC2069 # the trace goes to the pipe, the list to a file
    OPENSSL_CONF=$1 WARPRSA_TRACE=stderr "$OPENSSL" list -providers \
        2>&1 >providers
}
configure bad.cnf "$MODULE" colour=blue
traced bad.cnf | sed -n 's/.*unknown name; expected one of //p' |
    tr -d ' ' | tr , '\n' | sort >known
[ "$(wc -l <known)" -ge 12 ] || fail "the parameters are not told"

# NAME VALUE
sed -n 's/^#\([a-z_]*\) = \(.*\)/\1 \2/p' "$SOURCE_DIR/conf/openssl.cnf" |
    sort >sample
# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -n '/^## Configuration/,/^#.*## /s/^| `\([a-z_]*\)` | .* | `\{0,1\}\([^` |]*\)`\{0,1\} | .*/\1 \2/p' \
    "$SOURCE_DIR/README.md" | sort >readme
cut -d ' ' -f 1 sample | diff known - ||
    fail "conf/openssl.cnf has other parameters than the provider"
diff sample readme || fail "README.md has other defaults than conf/openssl.cnf"

mapfile -t defaults < <(tr ' ' = <sample)
configure defaults.cnf "$MODULE" "${defaults[@]}"
traced defaults.cnf >trace
grep -q 'provider loaded' trace || fail "refused: $(cat trace)"
grep -q warprsa providers
