#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# warprsa-configure switches the provider on and off in a configuration like
# Debian's, and leaves it alone where programs would not work.
. "$(dirname "$0")/lib.sh"

# As users see it: root's check for a user without rights needs a module that
# everybody can read, which a build directory may not offer.
user=()
if [ "$(id -u)" -eq 0 ]; then
    chown nobody "$work"
    user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    "${user[@]}" test -r "$MODULE" || skip "nobody can't read $MODULE"
fi
configure_command() { # ARGUMENT...
    PATH=$(dirname "$(command -v "$OPENSSL")"):$PATH "${user[@]}" \
        sh "$SOURCE_DIR/conf/warprsa-configure.sh" --file "$work/system.cnf" \
        --settings "$work/provider.cnf" --sections "$work/etc/enabled.cnf" \
        "$@" 2>&1 | tee command.log
}
loaded() { # PROVIDER
    local list
    list=$(OPENSSL_CONF=$work/system.cnf "$OPENSSL" list -providers)
    grep -qx "  $1" <<<"$list"
}
settings() { # KEY=VALUE...
    printf '%s\n' '[warprsa_section]' "module=$MODULE" \
        "socket=$work/none.sock" "$@" >provider.cnf
}
# The sections have other names than ours, and another provider is activated.
cat >original.cnf <<'END'
HOME = .
openssl_conf = system_init # the usual comment

[system_init]
providers = system_providers

[ system_providers ]
base = base_sect

[base_sect]
activate = 1

[req]
string_mask = utf8only
END
restore() {
    cp original.cnf system.cnf
    [ ${#user[@]} -eq 0 ] || chown nobody system.cnf
}
restore
rm -f openssl.cnf
settings engine=host route=gpu startup_ms=60000

! configure_command status || fail "it is not on yet"
grep -q 'does not include' command.log
configure_command enable
grep -q 'mode = process (the default): CPU (host 0)' command.log
grep -q "mode = daemon: no daemon serves: no warprsad at $work/none.sock" \
    command.log
grep -q "Settings go into $work/provider.cnf" command.log
grep -q 'start again those' command.log
loaded warprsa && loaded default && loaded base
cmp original.cnf system.cnf.warprsa-backup
configure_command enable
[ "$(grep -c '^.include' system.cnf)" = 1 ] || fail "it is not idempotent"
configure_command status
grep -qx 'signatures work' command.log
grep -q 'no daemon serves' command.log

# The program's own trace and counters show that the provider signs.
rsa_key 2048 key.pem
CONF=$work/system.cnf sign_and_verify key.pem
expect_engine 2048 1

# What the administrator changes meanwhile stays.
echo '# mine' >>system.cnf
configure_command disable
! loaded warprsa || fail "it is on still"
[ ! -e etc/enabled.cnf ] && [ ! -e system.cnf.warprsa-backup ]
cat original.cnf - <<<'# mine' | cmp - system.cnf
configure_command disable

# refused WHY: nothing is changed, and the message says why.
refused() {
    cp system.cnf before.cnf
    ! configure_command enable || fail "$1: it was enabled"
    grep -q -- "$1" command.log
    cmp before.cnf system.cnf
    [ "$(find . -name '*.warprsa-*' -o -name 'enabled.cnf*')" = "" ] ||
        fail "$1: a file is left"
}
restore
settings slots=none
refused 'slots = none: expected a number'
settings
sed -i '1i route = cpu' provider.cnf
refused 'provider.cnf:1: route = cpu: it stands before any section'
settings module=/none.so
refused 'does not show it'
settings
sed -i 's/^base = .*/fips = fips_sect/' system.cnf
refused 'has the provider fips'
restore
printf '%s\n' '[system_init]' 'alg_section = algorithms' '[algorithms]' \
    'default_properties = fips=yes' >>system.cnf
refused 'default_properties = fips=yes: it is set already'

# Killed in the middle of its checks, it leaves nothing behind either.
restore
settings engine=host route=gpu startup_ms=60000
mkdir bin
cat >bin/openssl <<END
#!/bin/sh
case "\$*" in
*-sign*) kill -TERM "\$PPID" ;;
esac
exec $(command -v "$OPENSSL") "\$@"
END
chmod 755 bin bin/openssl
OPENSSL=$work/bin/openssl configure_command enable && fail "it was not killed"
cmp original.cnf system.cnf
[ ! -e etc/enabled.cnf ] && [ ! -e system.cnf.warprsa-backup ]

! configure_command nonsense || fail "nonsense is no command"
! configure_command --file relative.cnf enable || fail "a relative path"
grep -q 'an absolute path is wanted' command.log
