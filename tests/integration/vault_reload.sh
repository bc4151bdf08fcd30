#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The daemon reads its keys and their rules again (SIGHUP): keys are added,
# replaced, removed and refused, each a line of the log. What can't be read
# leaves all as it was. A server that has the reference goes on meanwhile.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/servers.sh"
. "$SOURCE_DIR/tests/integration/vault.sh"

echo "to be signed" >message
vault_key www 2048
vault_key steady 2048
cat >keys.conf <<END
* user=$ME sign padding=pkcs1,pss digest=sha256
END
start_vault
reference www
reference steady
signs www -sha256

plain req -x509 -new -key keys/steady.pem -subj /CN=localhost -days 2 \
    -out certificate.pem
serve_with_provider -key steady.ref -cert certificate.pem
answers "$port" || fail "no handshake"

# Added.
vault_key late 2048
! key_tool show late 2>error || fail "it is there before the reload"
reload_until 'key late: added: RSA of 2048 bits'
reference late
signs late -sha256

# Replaced: the old reference is for a key that there is no more.
cp www.ref old.ref
vault_key www 3072
reload_until 'key www: replaced: RSA of 3072 bits'
! with_provider dgst -sha256 -sign old.ref message >error 2>&1 ||
    fail "the old key signs"
grep -q 'key www: denied by warprsad' error
reference www
signs www -sha256

# Removed.
rm keys/late.pem
reload_until 'key late: removed'
! with_provider dgst -sha256 -sign late.ref message >error 2>&1 ||
    fail "a key signs that was removed"
grep -q 'key late: denied by warprsad' error
! key_tool show late 2>error || fail "a key is shown that was removed"

# Not to be read, or half written: the key stays.
cp -p keys/www.pem www.pem
chmod 604 keys/www.pem
reload_until 'key www: refused: others may read.*; the key as it was before stays'
signs www -sha256
(umask 077 && head -c 800 www.pem >half && mv half keys/www.pem)
reload_until 'key www: refused: it is no PEM, or cut off; .* before stays'
signs www -sha256
cp -p www.pem keys/www.pem

# A directory that others may write to: all keys stay.
chmod 777 keys
reload_until "keys not read: $work/keys: others may write to it (mode 0777)"
signs www -sha256
chmod 700 keys

# Rules with a mistake: the old ones stay. Then new ones count at once.
echo "www user=$ME sign padding=pkcs7 digest=sha256" >keys.conf
reload_until "rules not read: $work/keys.conf:1:.*pkcs7.*; they stay as they were"
signs www -sha256
signs steady -sha256
cat >keys.conf <<END
steady user=$ME sign padding=pss digest=sha256
gone user=$ME sign padding=pss digest=sha256
END
reload_until 'keys.conf, line 2: there is no key gone'
denied www 'sign, padding pkcs1, digest sha256' \
    with_provider dgst -sha256 -sign www.ref message
denied steady 'sign, padding pkcs1, digest sha256' \
    with_provider dgst -sha256 -sign steady.ref message

# The server has had its key all the time.
kill -HUP "$daemon"
reload_until 'keys and rules have been read'
handshakes "$port" 3
terminate "$daemon"
[ "$(grep -c 'key steady: ' daemon.log)" = \
    "$(grep -c 'key steady: \(added\|denied\|user\)' daemon.log)" ] ||
    fail "something befell the key steady"
