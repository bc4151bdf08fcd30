/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys that are references, used as programs use private keys: their numbers,
 * what is no reference, and where references are read from. What comes of it
 * has to be what an ordinary key gives.
 */
#include "tests/unit/provider/references_fixture.h"

#include <string.h>

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/store.h>

static void assert_equal_numbers(const EVP_PKEY *a, const EVP_PKEY *b,
                                 const char *name)
{
    BIGNUM *of_a = NULL, *of_b = NULL;

    assert_int_equal(EVP_PKEY_get_bn_param(a, name, &of_a), 1);
    assert_int_equal(EVP_PKEY_get_bn_param(b, name, &of_b), 1);
    assert_int_equal(BN_cmp(of_a, of_b), 0);
    BN_free(of_a);
    BN_free(of_b);
}

static void assert_same_print(EVP_PKEY *a, EVP_PKEY *b)
{
    BIO *of_a = BIO_new(BIO_s_mem()), *of_b = BIO_new(BIO_s_mem());
    char *text_a = NULL, *text_b = NULL;
    long length = 0;

    assert_int_equal(EVP_PKEY_print_public(of_a, a, 0, NULL), 1);
    assert_int_equal(EVP_PKEY_print_public(of_b, b, 0, NULL), 1);
    length = BIO_get_mem_data(of_a, &text_a);
    assert_true(length > 0);
    assert_int_equal(length, BIO_get_mem_data(of_b, &text_b));
    assert_memory_equal(text_a, text_b, (size_t)length);
    BIO_free(of_a);
    BIO_free(of_b);
}

static void assert_is_reference(EVP_PKEY *reference, EVP_PKEY *key)
{
    X509 *certificate = certificate_of(key);
    EVP_PKEY *public_key = X509_get_pubkey(certificate);
    EVP_PKEY *stranger = key_make(NULL, "RSA", 1024, 2);

    assert_string_equal(
        OSSL_PROVIDER_get0_name(EVP_PKEY_get0_provider(reference)), "warprsa");
    assert_int_equal(EVP_PKEY_get_size(reference), EVP_PKEY_get_size(key));
    assert_int_equal(EVP_PKEY_get_bits(reference), EVP_PKEY_get_bits(key));
    assert_int_equal(EVP_PKEY_get_security_bits(reference),
                     EVP_PKEY_get_security_bits(key));
    assert_equal_numbers(reference, key, OSSL_PKEY_PARAM_RSA_N);
    assert_equal_numbers(reference, key, OSSL_PKEY_PARAM_RSA_E);
    assert_int_equal(EVP_PKEY_eq(reference, public_key), 1);
    assert_int_equal(EVP_PKEY_eq(public_key, reference), 1);
    assert_int_equal(EVP_PKEY_eq(reference, key), 1);
    assert_int_not_equal(EVP_PKEY_eq(reference, stranger), 1);
    ERR_clear_error();
    assert_int_equal(X509_check_private_key(certificate, reference), 1);
    assert_same_print(reference, key);
    assert_int_equal(ERR_peek_error(), 0);
    EVP_PKEY_free(stranger);
    EVP_PKEY_free(public_key);
    X509_free(certificate);
}

TEST(has_the_public_numbers)
{
    assert_is_reference(rsa_reference, rsa);
    assert_is_reference(pss_reference, pss);
    assert_true(EVP_PKEY_is_a(rsa_reference, "RSA"));
    assert_true(EVP_PKEY_is_a(pss_reference, "RSA-PSS"));
}

static void assert_private_numbers_stay(EVP_PKEY *reference)
{
    OSSL_PARAM *params = NULL;
    BIO *bio = BIO_new(BIO_s_mem());
    BIGNUM *d = NULL;

    assert_int_equal(EVP_PKEY_todata(reference, EVP_PKEY_KEYPAIR, &params), 0);
    assert_true(raised(WARPRSA_R_PRIVATE_NUMBERS, "key www is a reference"));
    assert_int_equal(
        PEM_write_bio_PrivateKey(bio, reference, NULL, NULL, 0, NULL, NULL), 0);
    assert_true(raised(WARPRSA_R_PRIVATE_NUMBERS, "never leave warprsad"));
    assert_int_not_equal(EVP_PKEY_print_private(bio, reference, 0, NULL), 1);
    assert_true(raised(WARPRSA_R_PRIVATE_NUMBERS, "never leave warprsad"));
    assert_int_equal(
        EVP_PKEY_get_bn_param(reference, OSSL_PKEY_PARAM_RSA_D, &d), 0);
    ERR_clear_error();
    assert_int_equal(EVP_PKEY_todata(reference, EVP_PKEY_PUBLIC_KEY, &params),
                     1);
    assert_int_equal(ERR_peek_error(), 0);
    OSSL_PARAM_free(params);
    BIO_free(bio);
}

TEST(private_numbers_stay)
{
    assert_private_numbers_stay(rsa_reference);
    assert_private_numbers_stay(pss_reference);
}

TEST(copies_are_references)
{
    EVP_PKEY *copy = EVP_PKEY_dup(rsa_reference);

    assert_non_null(copy);
    assert_is_reference(copy, rsa);
    assert_private_numbers_stay(copy);
    assert_true(signs_right(subject, copy, rsa));
    EVP_PKEY_free(copy);
}

/* ---- what is no reference ---- */

static void assert_no_key(const warprsa_reference *reference)
{
    char text[WARPRSA_REFERENCE_PEM_MAX];

    assert_true(warprsa_reference_write_pem(reference, text, sizeof(text)) > 0);
    assert_null(read_key(text));
    assert_true(raised(WARPRSA_R_REFERENCE, "key reference www"));
}

TEST(wrong_public_keys)
{
    EVP_PKEY *short_key = key_make(NULL, "RSA", 512, 2);
    EVP_PKEY *curve = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    warprsa_reference reference;

    make_reference(short_key, &reference);
    assert_no_key(&reference);
    make_reference(curve, &reference);
    assert_no_key(&reference);
    make_reference(rsa, &reference);
    reference.spki[reference.spki_bytes - 2] = 0; /* e is 0x010001 */
    reference.spki[reference.spki_bytes - 3] = 0; /* a superfluous zero */
    assert_no_key(&reference);
    make_reference(rsa, &reference);
    reference.spki[5] ^= 1;
    assert_no_key(&reference);
    EVP_PKEY_free(short_key);
    EVP_PKEY_free(curve);
}

TEST(malformed_text)
{
    assert_null(read_key("-----BEGIN WARPRSA KEY REFERENCE-----\n"
                         "MA8CAQEwAQUMA3d3d4ACL3M\n"
                         "-----END WARPRSA KEY REFERENCE-----\n"));
    assert_true(raised(WARPRSA_R_REFERENCE, "not base64"));
    assert_null(read_key("-----BEGIN WARPRSA KEY REFERENCE-----\nMA8C\n"));
    assert_true(raised(WARPRSA_R_REFERENCE, "no line with END"));
    assert_null(read_key("-----BEGIN WARPRSA KEY REFERENCES-----\n"
                         "-----END WARPRSA KEY REFERENCES-----\n"));
    assert_false(raised(WARPRSA_R_REFERENCE, ""));
    assert_null(read_key(""));
    ERR_clear_error();
}

/* An ordinary key in one file with a certificate, a reference, and text. */
TEST(among_others)
{
    BIO *bio = BIO_new(BIO_s_mem());
    X509 *certificate = certificate_of(rsa), *read = NULL;
    warprsa_reference reference;
    char text[WARPRSA_REFERENCE_PEM_MAX];
    EVP_PKEY *key = NULL;

    make_reference(rsa, &reference);
    warprsa_reference_write_pem(&reference, text, sizeof(text));
    PEM_write_bio_X509(bio, certificate);
    BIO_printf(bio, "a comment\n%s", text);
    PEM_write_bio_PrivateKey(bio, rsa, NULL, NULL, 0, NULL, NULL);
    key = PEM_read_bio_PrivateKey_ex(bio, NULL, NULL, NULL, subject, NULL);
    assert_non_null(key);
    assert_is_reference(key, rsa);
    EVP_PKEY_free(key);
    key = PEM_read_bio_PrivateKey_ex(bio, NULL, NULL, NULL, subject, NULL);
    assert_non_null(key);
    assert_string_equal(OSSL_PROVIDER_get0_name(EVP_PKEY_get0_provider(key)),
                        "default");
    EVP_PKEY_free(key);
    PEM_write_bio_X509(bio, certificate);
    BIO_printf(bio, "%s", text);
    read = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    assert_non_null(read);
    key = PEM_read_bio_PrivateKey_ex(bio, NULL, NULL, NULL, subject, NULL);
    assert_non_null(key);
    assert_int_equal(ERR_peek_error(), 0);
    EVP_PKEY_free(key);
    X509_free(read);
    X509_free(certificate);
    BIO_free(bio);
}

TEST(from_der)
{
    warprsa_reference reference;
    uint8_t der[WARPRSA_REFERENCE_DER_MAX];
    const unsigned char *at = der;
    EVP_PKEY *key = NULL;
    size_t length = 0;

    make_reference(pss, &reference);
    length = warprsa_reference_write(&reference, der, sizeof(der));
    key = d2i_AutoPrivateKey_ex(NULL, &at, (long)length, subject, NULL);
    assert_non_null(key);
    assert_is_reference(key, pss);
    EVP_PKEY_free(key);
}

/* What a URI stands for; NULL: nothing, with errors on the queue. */
static EVP_PKEY *key_at(const char *uri)
{
    OSSL_STORE_CTX *store =
        OSSL_STORE_open_ex(uri, subject, NULL, NULL, NULL, NULL, NULL, NULL);
    OSSL_STORE_INFO *info = store == NULL ? NULL : OSSL_STORE_load(store);
    EVP_PKEY *key = info == NULL ? NULL : OSSL_STORE_INFO_get1_PKEY(info);

    assert_true(info == NULL ||
                OSSL_STORE_INFO_get_type(info) == OSSL_STORE_INFO_PKEY);
    OSSL_STORE_INFO_free(info);
    if (key != NULL) {
        assert_null(OSSL_STORE_load(store));
        assert_int_equal(OSSL_STORE_eof(store), 1);
    }
    OSSL_STORE_close(store);
    return key;
}

TEST(from_the_store)
{
    EVP_PKEY *key = NULL;

    vault_key = pss;
    key = key_at("warprsa:www");
    assert_non_null(key);
    assert_string_equal(asked_socket, "/run/warprsa/warprsad.sock");
    assert_is_reference(key, pss);
    EVP_PKEY_free(key);
    vault_key = rsa;
    key = key_at("warprsa:www?socket=/tmp/other.sock");
    assert_non_null(key);
    assert_string_equal(asked_socket, "/tmp/other.sock");
    assert_is_reference(key, rsa);
    away = true;
    assert_false(signs_right(subject, key, rsa));
    away = false;
    assert_true(raised(WARPRSA_R_DAEMON, "at /tmp/other.sock"));
    EVP_PKEY_free(key);
}

/* Whether a program that expects such objects finds one. */
static bool finds(int type)
{
    OSSL_STORE_CTX *store = OSSL_STORE_open_ex("warprsa:www", subject, NULL,
                                               NULL, NULL, NULL, NULL, NULL);
    OSSL_STORE_INFO *info = NULL;
    bool found = false;

    assert_int_equal(OSSL_STORE_expect(store, type), 1);
    asked_socket[0] = '\0';
    info = OSSL_STORE_load(store);
    found = info != NULL;
    assert_int_equal(ERR_peek_error(), 0);
    assert_true(found || OSSL_STORE_eof(store) == 1);
    OSSL_STORE_INFO_free(info);
    OSSL_STORE_close(store);
    return found;
}

/* A reference is a private key, as a file with one is. For others the daemon is
 * not asked. */
TEST(expected_of_the_store)
{
    static const int others[] = {OSSL_STORE_INFO_PARAMS, OSSL_STORE_INFO_PUBKEY,
                                 OSSL_STORE_INFO_CERT, OSSL_STORE_INFO_CRL};

    vault_key = rsa;
    assert_true(finds(0));
    assert_true(finds(OSSL_STORE_INFO_PKEY));
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_false(finds(others[i]));
        assert_string_equal(asked_socket, "");
    }
}

TEST(nothing_in_the_store)
{
    static const char *const uris[] = {
        "warprsa:",
        "warprsa:a/b",
        "warprsa:www?socket=relative",
        "warprsa:www?socket",
        "warprsa:www?pin=1",
    };

    assert_null(key_at("warprsa:other"));
    assert_true(raised(WARPRSA_R_DAEMON, "warprsad at /run"));
    for (size_t i = 0; i < sizeof(uris) / sizeof(uris[0]); i++) {
        assert_null(key_at(uris[i]));
        assert_true(raised(WARPRSA_R_REFERENCE, "expected warprsa:NAME"));
    }
}

RUN_REFERENCE_TESTS()
