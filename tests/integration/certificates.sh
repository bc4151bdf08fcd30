# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Certificates for tests of the network; sourced after lib.sh. They are for
# tests alone: of a day or two, with keys that lie about. Those for production
# come from the site's own authority. They have what RFC 5280 asks for, since
# clients check it: Python from 3.13 on does (X509_V_FLAG_X509_STRICT).

# authority NAME: NAME.pem, and NAME.key to sign with.
authority() {
    plain req -x509 -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.pem" \
        -subj "/CN=$1" -days 2 -addext basicConstraints=critical,CA:TRUE \
        -addext keyUsage=critical,keyCertSign,cRLSign \
        -addext subjectKeyIdentifier=hash 2>/dev/null
}

# certificate NAME AUTHORITY SUBJECT-ALT-NAME [DAYS]: NAME.pem and NAME.key; of 0
# days: expired a second later.
certificate() {
    local name=$1 authority=$2 alternative=$3 days=${4:-2}
    plain req -newkey rsa:2048 -nodes -keyout "$name.key" -out "$name.csr" \
        -subj "/CN=$name" 2>/dev/null
    cat >"$name.ext" <<END
subjectAltName=$alternative
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth,clientAuth
subjectKeyIdentifier=hash
authorityKeyIdentifier=keyid
END
    plain x509 -req -in "$name.csr" -CA "$authority.pem" \
        -CAkey "$authority.key" -CAcreateserial -days "$days" \
        -extfile "$name.ext" -out "$name.pem" 2>/dev/null
    plain verify -x509_strict -no_check_time -CAfile "$authority.pem" \
        "$name.pem" >/dev/null
    cat "$authority.pem" >"$name.ca"
}
