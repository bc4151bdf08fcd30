# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests of the daemon's vault share; each sources this after
# servers.sh. Its keys are in keys/, the rules in keys.conf.

: "${engine_counter:?lib.sh comes first}" "${work:?}"
export ME # the user in the rules
ME=$(id -un)
KEY_TOOL=$BUILD_DIR/batching/key_tool/warprsa-key
mkdir -m 700 keys

# vault_key NAME BITS GENPKEY-OPTION...: a key of the vault, of RSA unless an
# option says otherwise, and its public half in NAME.pub.
vault_key() {
    local name=$1 bits=$2
    shift 2
    [[ " $* " = *" -algorithm "* ]] || set -- -algorithm RSA "$@"
    [ "$bits" = 0 ] || set -- "$@" -pkeyopt "rsa_keygen_bits:$bits"
    (
        umask 077
        plain genpkey -out "keys/.$name" "$@" 2>/dev/null
        mv "keys/.$name" "keys/$name.pem" # it is there at once
    )
    plain pkey -in "keys/$name.pem" -pubout -out "$name.pub"
}

start_vault() { # WARPRSAD-OPTION...
    start_daemon --keys-directory="$work/keys" --keys-rules="$work/keys.conf" \
        "$@"
}

key_tool() { # WARPRSA-KEY-ARGUMENT...
    "$KEY_TOOL" --socket "$work/warprsad.sock" "$@"
}

reference() { # NAME: to NAME.ref
    key_tool reference "$1" >"$1.ref"
    grep -q '^-----BEGIN WARPRSA KEY REFERENCE-----$' "$1.ref"
}

# Verifies the signature of the message in sig, by a process without warprsa.
verified() { # NAME DGST-OPTION...
    local name=$1
    shift
    plain dgst "$@" -verify "$name.pub" -signature sig message >verified.log ||
        fail "$name: a wrong signature: $*"
}

# Signs by a reference, and verifies. That nothing is signed is no failure here.
signs() { # NAME DGST-OPTION...
    with_provider dgst "${@:2}" -sign "$1.ref" -out sig message &&
        verified "$@"
}

# Signs as OpenSSL's store loads a key, without a file.
signs_by_uri() { # NAME
    with_provider dgst -sha256 -sign "warprsa:$1" -out sig message
    verified "$1" -sha256
}

# Signs a number of any form by a key of 2048 bits, and decrypts it.
signs_number() { # NAME
    head -c 256 /dev/zero | tr '\0' '\1' >number
    with_provider rsautl -sign -raw -inkey "$1.ref" -in number -out sig
    plain rsautl -verify -raw -pubin -inkey "$1.pub" -in sig -out got
    cmp got number
    with_provider pkeyutl -decrypt -inkey "$1.ref" -in number -out got \
        -pkeyopt rsa_padding_mode:none
    cmp got sig
}

# Decrypts by a reference what a process without warprsa has encrypted.
decrypts() { # NAME PKEYUTL-OPTION...
    local name=$1
    shift
    head -c 100 /dev/urandom >secret
    plain pkeyutl -encrypt -pubin -inkey "$name.pub" -in secret \
        -out secret.enc "$@"
    with_provider pkeyutl -decrypt -inkey "$name.ref" -in secret.enc -out got \
        "$@"
    cmp got secret
}

# uses COUNT COMMAND...: so many uses, all on the engine, by the daemon's count.
uses() {
    local wanted=$1 before engine
    shift
    before=$(live "${daemon:?}" vault_uses)
    engine=$(live "${daemon:?}" "$engine_counter")
    "$@"
    wanted=$((before + wanted))
    [ "$(live "${daemon:?}" vault_uses)" = "$wanted" ] ||
        fail "$(live "${daemon:?}" vault_uses) uses, not $wanted: $*"
    [ $(($(live "${daemon:?}" "$engine_counter") - engine)) = \
        $((wanted - before)) ] || fail "not by the engine: $*"
}

# denied KEY LOGGED-TEXT COMMAND...: the daemon denies a use. The program fails
# with an error that names key and socket; log and counter tell of it.
denied() {
    local key=$1 logged=$2 before
    shift 2
    before=$(live "${daemon:?}" vault_denials)
    ! "$@" >denied.out 2>&1 || fail "it is allowed: $*"
    grep -q "key $key: denied by warprsad at $work/warprsad.sock: " \
        denied.out || fail "$*: $(cat denied.out)"
    grep -q "key $key: denied to .*$logged" daemon.log ||
        fail "not in the log: key $key, $logged"
    [ "$(live "${daemon:?}" vault_denials)" = $((before + 1)) ] ||
        fail "$(live "${daemon:?}" vault_denials) denials, $before before"
}

# The daemon reads keys and rules again; LINE is what it then says.
reload_until() { # LINE
    local lines
    lines=$(grep -c -e "$1" daemon.log || :)
    kill -HUP "$daemon"
    more() {
        [ "$(grep -c -e "$1" daemon.log || :)" -gt "$lines" ]
    }
    wait_for 600 more "$1" # checking long keys takes time
}
