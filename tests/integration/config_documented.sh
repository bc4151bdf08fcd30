#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every setting of the provider is in conf/openssl.cnf and in its manual page,
# with the same default in both, and the provider takes all of these defaults.
# Every option of the daemon is in the manual page of its configuration file,
# with its default, and in warprsad(8).
. "$(dirname "$0")/lib.sh"

# "NAME DEFAULT" for each setting that a manual page describes.
documented() { # PAGE
    sed -n '/^\.SH SETTINGS/,/^\.SH [^S]/p' "$BUILD_DIR/doc/$1" | awk '
        /^\.TP/ { getline; name = $2; value[name] = ""; next }
        /^Default: / { sub(/\.$/, "", $2); value[name] = $2 }
        END { for (name in value) print name, value[name] }' | sort
}

traced() { # FILE: what the provider says of a configuration
    # shellcheck disable=SC2069 # the trace goes to the pipe, the list to a file
    OPENSSL_CONF=$1 WARPRSA_TRACE=stderr "$OPENSSL" list -providers \
        2>&1 >providers
}
configure bad.cnf "$MODULE" colour=blue
traced bad.cnf | sed -n 's/.*unknown name; expected one of //p' |
    tr -d ' ' | tr , '\n' | sort >known
[ "$(wc -l <known)" -ge 12 ] || fail "the parameters are not told"

sed -n 's/^#\([a-z_]*\) = \(.*\)/\1 \2/p' "$SOURCE_DIR/conf/openssl.cnf" |
    sort >sample
documented warprsa.7 >page
cut -d ' ' -f 1 sample | diff known - ||
    fail "conf/openssl.cnf has other settings than the provider"
diff sample page || fail "warprsa(7) has other defaults than conf/openssl.cnf"

mapfile -t defaults < <(tr ' ' = <sample)
configure defaults.cnf "$MODULE" "${defaults[@]}"
traced defaults.cnf >trace
grep -q 'provider loaded' trace || fail "refused: $(cat trace)"
grep -q warprsa providers

# The daemon: an option's line, and below it what is allowed and the default.
"$BUILD_DIR/batching/daemon/warprsad" --help | awk '
    $1 ~ /^--/ && NF > 1 { name = substr($1, 3); gsub(/-/, "_", name) }
    $1 ~ /^--/ { next }
    name != "" {
        value = $NF ~ /^\(.*\)$/ ? substr($NF, 2, length($NF) - 2) : ""
        print name, value
        name = ""
    }' | grep -v -e '^config ' -e '^help ' -e '^version ' | sort >options
[ "$(wc -l <options)" -ge 17 ] || fail "the daemon's options are not told"
documented warprsad.conf.5 | diff options - ||
    fail "warprsad.conf(5) has other settings than warprsad --help"

# warprsad(8) has every option of the command line, and no other.
sed -n '/^\.SH OPTIONS/,/^\.SH SIGNALS/p' "$SOURCE_DIR/doc/man/warprsad.8" |
    awk '/^\.TP/ { getline; print }' | sed 's/\\-/-/g' |
    grep -o -e '--[a-z-]*' | sort >page
"$BUILD_DIR/batching/daemon/warprsad" --help |
    sed -n 's/^  \(--[a-z-]*\) .*/\1/p' | sort | diff - page ||
    fail "warprsad(8) has other options than warprsad --help"
