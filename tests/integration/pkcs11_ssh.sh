#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenSSH with the keys of the daemon: ssh-keygen shows the public key, an agent
# has the private one and signs a file, and a server that has its host key from
# the agent is taken for itself. The recipes of doc/pkcs11.md.
. "$(dirname "$0")/lib.sh"
. "$SOURCE_DIR/tests/integration/pkcs11_programs.sh"

need ssh-keygen ssh-agent ssh-add
start_token
ssh-keygen -D "$PKCS11" >keys.txt 2>keygen.log || fail "$(cat keygen.log)"
# It shows the authority's key as well, of its certificate.
plain pkey -pubin -in www.pub -out www.pem
ssh-keygen -i -m PKCS8 -f www.pem >www.ssh
grep -qxF "$(cut -d' ' -f1,2 www.ssh) www" keys.txt ||
    fail "not www: $(cat keys.txt)"

# It looks at where links lead.
ssh-agent -D -a "$work/agent" -P "$(realpath "$PKCS11")" >agent.log 2>&1 &
servers+=("$!")
export SSH_AUTH_SOCK=$work/agent
wait_for 60 test -S "$work/agent"
# No PIN is asked for; an empty line is what is typed.
ssh-add -s "$PKCS11" </dev/null >add.log 2>&1 || fail "$(cat add.log)"
ssh-add -L >keys.txt
grep -qF "$(cut -d' ' -f2 www.ssh)" keys.txt || fail "$(cat keys.txt)"

sign() {
    rm -f message.sig
    ssh-keygen -Y sign -n file -f www.ssh message 2>keygen.log ||
        fail "$(cat keygen.log)"
    echo "user@host $(cut -d' ' -f1,2 www.ssh)" >allowed
    ssh-keygen -Y verify -n file -I user@host -f allowed -s message.sig \
        <message >keygen.log || fail "$(cat keygen.log)"
}
uses 1 sign
! ssh-keygen -Y verify -n file -I user@host -f allowed -s message.sig \
    <www.pub >keygen.log 2>&1 || fail "anything is verified"

# The host key of a server; it ends after this connection (-d). The user need
# not get in for it.
sshd=$(command -v sshd || :)
[ -n "$sshd" ] && [ "$(id -u)" = 0 ] || exit 0
cat >sshd.conf <<END
HostKeyAgent $work/agent
HostKey $work/www.ssh
ListenAddress 127.0.0.1
PidFile none
UsePAM no
END
mkdir -p /run/sshd
port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
"$sshd" -D -e -f "$work/sshd.conf" -p "$port" >sshd.log 2>&1 &
servers+=("$!")
wait_for 60 grep -q 'Server listening' sshd.log
echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 www.ssh)" >known_hosts
connect() {
    ssh -F none -v -p "$port" -o BatchMode=yes -o StrictHostKeyChecking=yes \
        -o "UserKnownHostsFile=$work/known_hosts" -o IdentityAgent=none \
        -o PubkeyAuthentication=no 127.0.0.1 true 2>ssh.log || :
    grep -q "is known and matches the RSA host key" ssh.log ||
        fail "$(cat ssh.log sshd.log)"
}
uses 1 connect
