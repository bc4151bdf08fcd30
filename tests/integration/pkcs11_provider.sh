# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests of pkcs11-provider share, an OpenSSL provider for PKCS #11
# modules; each sources this after lib.sh. Its configuration is
# provider.cnf; a file that names the key www to programs is www.uri.pem.
. "$SOURCE_DIR/tests/integration/pkcs11_programs.sh"

: "${PKCS11:?}" "${work:?}"
pkcs11_provider=$("$OPENSSL" version -m | cut -d '"' -f 2)/pkcs11.so
[ -e "$pkcs11_provider" ] || skip "no pkcs11-provider here"
cat >provider.cnf <<END
openssl_conf = openssl_init
[openssl_init]
providers = provider_section
[provider_section]
default = default_section
pkcs11 = pkcs11_section
[default_section]
activate = 1
[pkcs11_section]
module = $pkcs11_provider
pkcs11-module-path = $PKCS11
activate = 1
END
WWW='pkcs11:token=warprsa;object=www;type=private'
cat >uri.cnf <<END
asn1 = SEQUENCE:key
[key]
description = VISIBLESTRING:PKCS\\#11 Provider URI v1.0
uri = UTF8:$WWW
END
plain asn1parse -genconf uri.cnf -noout -out uri.der
{
    echo "-----BEGIN PKCS#11 PROVIDER URI-----"
    plain base64 -in uri.der
    echo "-----END PKCS#11 PROVIDER URI-----"
} >www.uri.pem

by_token() { # COMMAND...: with pkcs11-provider
    OPENSSL_CONF=$work/provider.cnf "$@"
}
