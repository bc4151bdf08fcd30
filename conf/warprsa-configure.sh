#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# warprsa-configure, the program: switches warprsa on and off in OpenSSL's
# configuration of the whole system; see warprsa-configure(8).
set -eu
export LC_ALL=C
umask 022
unset OPENSSL_CONF OPENSSL_MODULES WARPRSA_TRACE

file=
settings=/etc/warprsa/provider.cnf
sections=/etc/warprsa/enabled.cnf
mark='# The next line was added by warprsa-configure, which also removes it.'

usage() {
    cat <<'END'
Usage: warprsa-configure [OPTION...] enable|disable|status
Switches the provider warprsa on or off for every program that reads OpenSSL's
configuration, and says whether it is on and works.

  --file FILE      OpenSSL's configuration; openssl.cnf in the directory that
                   "openssl version -d" names, unless given
  --settings FILE  settings of the provider, in a section [warprsa_section];
                   /etc/warprsa/provider.cnf, which need not be there
  --sections FILE  the file that "enable" writes and that the configuration then
                   includes; /etc/warprsa/enabled.cnf
  --help           this text

Exit status: 0 done, or on and working; 1 an error, or not on; 2 bad command
line.
END
}

die() {
    echo "warprsa-configure: $*" >&2
    exit 1
}

bad_usage() {
    echo "warprsa-configure: $*" >&2
    usage >&2
    exit 2
}

absolute() { # OPTION PATH: OpenSSL would look below its own directory
    case "$2" in
    /*) ;;
    *) bad_usage "$1 $2: an absolute path is wanted" ;;
    esac
    case "$2" in
    *[!A-Za-z0-9_./+-]*)
        bad_usage "$1 $2: letters, digits and _./+- are allowed"
        ;;
    esac
}

# The last value of KEY in SECTION of the configuration, as libcrypto reads it
# but for variables and included files. "default" is where it begins.
value_of() { # SECTION KEY
    awk -v wanted="$1" -v key="$2" '
        BEGIN { section = "default" }
        { sub(/#.*/, ""); gsub(/^[ \t]+|[ \t\r]+$/, "") }
        /^\[.*\]$/ {
            section = $0
            gsub(/^\[[ \t]*|[ \t]*\]$/, "", section)
            next
        }
        section == wanted && /=/ {
            name = value = $0
            sub(/[ \t]*=.*/, "", name)
            sub(/^[^=]*=[ \t]*/, "", value)
            if (name == key)
                found = value
        }
        END { print found }' "$file"
}

is_on() {
    grep -qxF ".include $sections" "$file"
}

# The sections that switch the provider on, under the names that the
# configuration has for them already.
write_sections() {
    init=$(value_of default openssl_conf)
    list=$(value_of "${init:-none}" providers)
    algorithms=$(value_of "${init:-none}" alg_section)
    default=$(value_of "${list:-none}" default)
    properties=$(value_of "${algorithms:-none}" default_properties)
    case "$properties" in
    '' | *provider=warprsa* | *warprsa.offload=yes*) ;;
    *) die "$file: default_properties = $properties: it is set already;" \
        "add ,?warprsa.offload=yes to it by hand" ;;
    esac
    if [ -n "$list" ] && [ -n "$(value_of "$list" fips)" ]; then
        die "$file: [$list] has the provider fips; warprsa is not a validated" \
            "module, and would take its place for RSA"
    fi
    cat <<END
# Written by warprsa-configure; "warprsa-configure enable" writes it again.
# Settings belong into $settings.
[default]
openssl_conf = ${init:=openssl_init}

[$init]
providers = ${list:=provider_sect}
alg_section = ${algorithms:=warprsa_algorithms}

[$algorithms]
default_properties = ?provider=warprsa

[$list]
default = ${default:=default_sect}
warprsa = warprsa_section

[$default]
activate = 1

[warprsa_section]
module = warprsa.so
activate = 1

.include $settings
END
}

providers() { # CONFIGURATION: their names, sorted
    OPENSSL_CONF=$1 openssl list -providers 2>/dev/null |
        sed -n 's/^  \([^ ].*\)$/\1/p' | sort
}

is_loaded() { # CONFIGURATION
    providers "$1" | grep -qx warprsa
}

why_not_loaded() { # CONFIGURATION
    OPENSSL_CONF=$1 WARPRSA_TRACE=stderr openssl list -providers 2>&1 |
        grep -i 'warprsa' | head -n 5 >&2 || :
}

# Signs as some program would, and verifies without the provider.
signs() { # CONFIGURATION [COMMAND...]: which runs openssl
    configuration=$1
    shift
    OPENSSL_CONF=$configuration "$@" openssl dgst -sha256 \
        -sign "$work/key.pem" "$work/key.pem" >"$work/signature" &&
        OPENSSL_CONF=/dev/null openssl dgst -sha256 -verify "$work/public.pem" \
            -signature "$work/signature" "$work/key.pem" >/dev/null
}

# Settings that stand before any section would count for whichever section comes
# before them.
check_settings() {
    [ -e "$settings" ] || return 0
    stray=$(awk '
        { sub(/#.*/, ""); gsub(/^[ \t]+|[ \t\r]+$/, "") }
        /^\[/ { exit }
        /^[^.]/ { print NR ": " $0; exit }' "$settings")
    [ -z "$stray" ] || {
        echo "warprsa-configure: $settings:$stray: it stands before any" \
            "section: put [warprsa_section] before it" >&2
        return 1
    }
}

# What computes with MODE = process or daemon where an operation is to go to an
# engine, as the module's counters name it at the end; or why there is none.
engine_of() { # MODE
    {
        printf '.include %s\n' "$file"
        printf '[warprsa_section]\nmode = %s\nroute = gpu\n' "$1"
    } >"$work/engine.cnf"
    WARPRSA_TRACE=file:$work/engine.trace
    export WARPRSA_TRACE
    signs "$work/engine.cnf" || :
    unset WARPRSA_TRACE
    sed -n 's/.*counters: device="\([^"]*\)".*/\1/p' "$work/engine.trace" |
        tail -n 1
    rm -f "$work/engine.trace"
}

# Says what computes for the system's programs as they are configured.
say_engine() {
    by=$(engine_of process)
    case "$by" in
    none* | '') by="OpenSSL's own code: ${by#none: }" ;;
    esac
    echo "mode = process (the default): $by"
    by=$(engine_of daemon)
    case "$by" in
    none* | '') by="no daemon serves: ${by#none: }" ;;
    esac
    echo "mode = daemon: $by"
}

# Whether programs work with CONFIGURATION, by the process's own GPU and by the
# daemon, as root and as a user without any rights.
check() { # CONFIGURATION
    OPENSSL_CONF=/dev/null openssl genpkey -algorithm RSA \
        -pkeyopt rsa_keygen_bits:2048 -out "$work/key.pem" 2>/dev/null
    OPENSSL_CONF=/dev/null openssl pkey -in "$work/key.pem" -pubout \
        -out "$work/public.pem"
    chmod 755 "$work"
    chmod 644 "$work/key.pem" # of no value, and "nobody" has to read it
    is_loaded "$1" || {
        why_not_loaded "$1"
        echo "warprsa-configure: openssl list -providers does not show it" >&2
        return 1
    }
    for mode in process daemon; do
        {
            printf '.include %s\n' "$1"
            printf '[warprsa_section]\nmode = %s\n' "$mode"
        } >"$work/$mode.cnf"
        is_loaded "$work/$mode.cnf" && signs "$work/$mode.cnf" || {
            echo "warprsa-configure: no signature with mode = $mode" >&2
            return 1
        }
    done
    signs "$1" || return 1
    [ "$(id -u)" -eq 0 ] || return 0
    signs "$1" setpriv --reuid 65534 --regid 65534 --clear-groups || {
        echo "warprsa-configure: no signature for a user without rights: may" \
            "everybody read $1, $sections and $settings?" >&2
        return 1
    }
}

# Puts stdin in the place of FILE at once, with FILE's owner and mode.
replace() { # FILE
    if [ -e "$1" ]; then
        cp -p "$1" "$1.warprsa-new"
    fi
    cat >"$1.warprsa-new"
    mv "$1.warprsa-new" "$1"
}

without_line() {
    grep -vxF -e "$mark" -e ".include $sections" "$file" || :
}

# Puts back what "enable" has changed.
undo() {
    rm -f "$file.warprsa-new" "$sections.warprsa-new"
    if [ "$was_on" = no ]; then
        replace "$file" <"$work/before"
        rm -f "$file.warprsa-backup"
    fi
    if [ -e "$work/sections" ]; then
        replace "$sections" <"$work/sections"
    else
        rm -f "$sections"
    fi
}

# Programs that have libcrypto already, and so the configuration of before.
running() {
    for maps in /proc/[0-9]*/maps; do
        grep -qs '/libcrypto\.so\.3' "$maps" || continue
        cat "${maps%maps}comm" 2>/dev/null || :
    done | sort -u | tr '\n' ' '
}

say_next() {
    cat <<END
Settings go into $settings, in a section [warprsa_section].
A program reads the configuration when it starts: start again those that are to
use warprsa. warprsa-stat says which of them do.
END
    programs=$(running)
    [ -z "$programs" ] || echo "Running with OpenSSL now: $programs"
}

enable() {
    check_settings || die "nothing is changed"
    providers "$file" >"$work/providers"
    cp "$file" "$work/before"
    [ ! -e "$sections" ] || cp "$sections" "$work/sections"
    was_on=no
    if is_on; then
        was_on=yes
        without_line >"$work/plain"
        system=$file file=$work/plain
        write_sections >"$work/new"
        file=$system
    else
        write_sections >"$work/new"
    fi
    mkdir -p "$(dirname "$sections")"
    unverified=yes
    replace "$sections" <"$work/new"
    if [ "$was_on" = no ]; then
        cp -p "$file" "$file.warprsa-backup"
        {
            cat "$work/before"
            printf '%s\n.include %s\n' "$mark" "$sections"
        } | replace "$file"
    fi
    if ! check "$file" || ! still_there; then
        die "programs would not work: nothing is changed"
    fi
    unverified=no
    echo "warprsa-configure: warprsa is on in $file"
    say_engine
    say_next
}

# Every provider that was loaded before is loaded still.
still_there() {
    providers "$file" >"$work/now"
    lost=$(comm -23 "$work/providers" "$work/now" | tr '\n' ' ')
    [ -z "$lost" ] || {
        echo "warprsa-configure: no longer loaded: $lost" >&2
        return 1
    }
}

disable() {
    if is_on; then
        cp -p "$file" "$file.warprsa-backup"
        without_line | replace "$file"
    fi
    rm -f "$sections"
    ! is_loaded "$file" ||
        die "$file still loads warprsa, by lines that are not ours"
    rm -f "$file.warprsa-backup"
    echo "warprsa-configure: warprsa is off in $file"
}

status() {
    if is_on; then
        echo "$file includes $sections"
    else
        echo "$file does not include $sections: see \"warprsa-configure enable\""
    fi
    if ! is_loaded "$file"; then
        is_on && why_not_loaded "$file"
        echo "openssl list -providers does not show warprsa"
        return 1
    fi
    echo "openssl list -providers shows warprsa"
    check_settings || return 1
    check "$file" || return 1
    echo "signatures work"
    say_engine
}

need_write() {
    [ -w "$file" ] && [ -w "$(dirname "$file")" ] ||
        die "$file may not be changed: run it as root"
}

# Also after an error or a signal in the middle.
finish() {
    [ "$unverified" = no ] || undo
    rm -rf "$work"
}

command=
unverified=no # "enable" has changed something, and not checked it yet
while [ $# -gt 0 ]; do
    case "$1" in
    --file | --settings | --sections)
        [ $# -ge 2 ] || bad_usage "$1: a file is wanted"
        absolute "$1" "$2"
        case "$1" in
        --file) file=$2 ;;
        --settings) settings=$2 ;;
        --sections) sections=$2 ;;
        esac
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    enable | disable | status)
        [ -z "$command" ] || bad_usage "one of enable, disable, status"
        command=$1
        ;;
    *) bad_usage "$1: unknown" ;;
    esac
    shift
done
[ -n "$command" ] || bad_usage "enable, disable or status is wanted"
command -v openssl >/dev/null || die "the program openssl is missing"
if [ -z "$file" ]; then
    file=$(openssl version -d | sed 's/^OPENSSLDIR: "\(.*\)"$/\1/')/openssl.cnf
fi
[ -e "$file" ] || die "$file is not there"
file=$(readlink -f "$file")
[ "$command" = status ] || need_write
work=$(mktemp -d "${TMPDIR:-/tmp}/warprsa-configure.XXXXXX")
trap finish EXIT
trap 'exit 1' HUP INT TERM
"$command"
