#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# keys.conf(5) has every word that the daemon takes in its rules, and no other.
# The daemon takes the rules of the page, of the sample conf/keys.conf, of the
# recipes in doc/vault.md and of doc/remote.md as they stand, but for their users.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"

page=$SOURCE_DIR/doc/man/keys.conf.5
rule() { # KEY WORD...
    echo "$* user=$ME" >keys.conf
}
vault_key www 2048
rule www sign padding=none
start_vault

# What the daemon says that it expects there.
expected() { # WORD...: a rule with a mistake
    rule www "$@"
    reload_until 'rules not read: '
    sed -n 's/.*rules not read: .*expected \(.*\); they stay .*/\1/p' daemon.log |
        tail -n 1
}
words() { # one a line, without what is said between them
    tr -cs 'a-z0-9=-' '\n' | grep -vxE 'or|some|of|for|sign|decrypt' | sort -u
}

# "NAME" for each word that the page has an entry for, below this one.
described() { # NAME
    awk -v head="$1" '
        /^\.SH/ { inside = 0 }
        inside && /^\.RE/ { inside = 0 }
        inside && entry { sub(/^\.[A-Z]+ /, ""); gsub(/ ?", " ?/, "\n"); print }
        { entry = inside && /^\.TP/ }
        index($0, ".BI " head) == 1 { begun = 1 }
        begun && /^\.RS/ { inside = 1; begun = 0 }' "$page" |
        sed 's/\\-/-/g; s/ and /\n/g' | tr -s ' "' '\n' | grep . | sort -u
}
expected sign decrypt padding=wrong | words >by_daemon
described padding= >in_page
diff by_daemon in_page || fail "keys.conf(5) has other paddings than the daemon"
expected sign padding=pss digest=wrong | words >by_daemon
described digest= >in_page
diff by_daemon in_page || fail "keys.conf(5) has other digests than the daemon"
expected wrong padding=none | tr -cs 'a-z=' '\n' | grep '=' | sort >by_daemon
sed -n 's/^\.BI \([a-z]*=\) .*/\1/p' "$page" | sort >in_page
diff by_daemon in_page || fail "keys.conf(5) has other words than the daemon"

# takes NAME: what is on standard input, with users and groups of this machine.
takes() {
    sed "s/user=[^ ]*/user=$ME/; s/group=[^ ]*/group=$(id -g)/" >keys.conf
    [ "$(grep -c ' padding=' keys.conf)" -ge "$2" ] || fail "$1 has no rules"
    # The last rule, which tells that all were taken.
    reload_until 'there is no key unlike-any-other'
}
last="unlike-any-other user=$ME sign padding=none"
{ sed -n '/^\.nf/,/^\.fi/{s/\\-/-/g;/^\./d;p}' "$page" | grep ' padding=' &&
    echo "$last"; } | takes "$page" 5
{ sed 's/^#\([a-z]\)/\1/' "$SOURCE_DIR/conf/keys.conf" && echo "$last"; } |
    takes conf/keys.conf 4
{ sed -n 's/^    \(.* user=.* padding=\)/\1/p' "$SOURCE_DIR/doc/vault.md" &&
    echo "$last"; } | takes doc/vault.md 5
{ sed -n 's/^    \(.* identity=.* padding=\)/\1/p' \
    "$SOURCE_DIR/doc/remote.md" && echo "$last"; } | takes doc/remote.md 2
