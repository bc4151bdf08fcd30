/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Handshakes of TLS servers whose key is a reference.
 */
#include "tests/unit/provider/references_fixture.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

/* ---- handshakes ---- */

static SSL *side(SSL_CTX *ctx, bool server, BIO *in, BIO *out)
{
    SSL *ssl = SSL_new(ctx);

    assert_int_equal(BIO_up_ref(in) & BIO_up_ref(out), 1);
    SSL_set_bio(ssl, in, out);
    if (server)
        SSL_set_accept_state(ssl);
    else
        SSL_set_connect_state(ssl);
    return ssl;
}

/* A handshake of a server with the reference. */
static void shake_hands(int version, const char *ciphers, EVP_PKEY *reference,
                        EVP_PKEY *key)
{
    SSL_CTX *server_ctx = SSL_CTX_new_ex(subject, NULL, TLS_server_method());
    SSL_CTX *client_ctx = SSL_CTX_new(TLS_client_method());
    BIO *to_server = BIO_new(BIO_s_mem()), *to_client = BIO_new(BIO_s_mem());
    X509 *certificate = certificate_of(key);
    SSL *server = NULL, *client = NULL;
    int done = 0;

    vault_key = key;
    uses = 0;
    SSL_CTX_set_min_proto_version(client_ctx, version);
    SSL_CTX_set_max_proto_version(client_ctx, version);
    SSL_CTX_set_security_level(client_ctx, 0);
    SSL_CTX_set_security_level(server_ctx, 0);
    if (ciphers != NULL) {
        assert_int_equal(SSL_CTX_set_cipher_list(client_ctx, ciphers), 1);
        assert_int_equal(SSL_CTX_set_cipher_list(server_ctx, ciphers), 1);
    }
    assert_int_equal(SSL_CTX_use_certificate(server_ctx, certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(server_ctx, reference), 1);
    assert_int_equal(SSL_CTX_check_private_key(server_ctx), 1);
    server = side(server_ctx, true, to_server, to_client);
    client = side(client_ctx, false, to_client, to_server);
    for (int i = 0; i < 10 && done != 3; i++)
        done = (SSL_do_handshake(client) == 1) | (SSL_do_handshake(server) == 1)
                                                     << 1;
    if (done != 3)
        ERR_print_errors_fp(stderr);
    assert_int_equal(done, 3);
    assert_int_equal(uses, 1);
    assert_int_equal(ERR_peek_error(), 0);
    SSL_free(server);
    SSL_free(client);
    BIO_free(to_server);
    BIO_free(to_client);
    X509_free(certificate);
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
}

TEST(handshakes)
{
    shake_hands(TLS1_3_VERSION, NULL, rsa_reference, rsa);
    assert_int_equal(last.padding, WARPRSA_PADDING_PSS);
    shake_hands(TLS1_3_VERSION, NULL, pss_reference, pss);
    assert_int_equal(last.padding, WARPRSA_PADDING_PSS);
    shake_hands(TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", rsa_reference,
                rsa);
    assert_int_equal(last.operation, WARPRSA_USE_SIGN);
    shake_hands(TLS1_2_VERSION, "AES128-GCM-SHA256", rsa_reference, rsa);
    assert_int_equal(last.operation, WARPRSA_USE_DECRYPT);
    assert_int_equal(last.padding, WARPRSA_PADDING_TLS);
    assert_int_equal(last.tls_client_version, TLS1_2_VERSION);
    shake_hands(TLS1_VERSION, "ECDHE-RSA-AES128-SHA", rsa_reference, rsa);
    assert_int_equal(last.digest, WARPRSA_DIGEST_MD5_SHA1);
}

RUN_REFERENCE_TESTS()
