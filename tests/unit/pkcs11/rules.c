/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What PKCS #11 says of sessions, objects and attributes, and which error each
 * situation has.
 */
#include "tests/unit/support/token_support.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

enum {
    SESSIONS = 100000,
    THREADS = 8,
    ROUNDS = 30,
    OBJECTS = 8, /* three keys of two objects, two certificates */
};

static CK_FUNCTION_LIST_3_0 *p11;

static int begin(void **state)
{
    p11 = token.p11;
    return test_token_begin(state);
}

/* ---- sessions ---- */

TEST_IN(many_sessions, begin, test_token_end)
{
    CK_SESSION_HANDLE *sessions = calloc(SESSIONS, sizeof(*sessions));
    CK_SESSION_INFO info;
    CK_TOKEN_INFO about;

    for (unsigned i = 0; i < SESSIONS; i++)
        sessions[i] = test_token_session();
    assert_int_equal(p11->C_GetTokenInfo(0, &about), CKR_OK);
    assert_int_equal(about.ulSessionCount, SESSIONS);
    assert_int_equal(p11->C_GetSessionInfo(sessions[SESSIONS - 1], &info),
                     CKR_OK);
    assert_int_equal(info.state, CKS_RO_PUBLIC_SESSION);
    assert_int_equal(p11->C_CloseAllSessions(0), CKR_OK);
    for (unsigned i = 0; i < SESSIONS; i++)
        assert_int_equal(p11->C_CloseSession(sessions[i]),
                         CKR_SESSION_HANDLE_INVALID);
    free(sessions);
}

TEST_IN(handles_of_closed_sessions, begin, test_token_end)
{
    CK_SESSION_HANDLE first = test_token_session(), second;
    CK_SESSION_INFO info;

    assert_int_equal(p11->C_CloseSession(first), CKR_OK);
    second = test_token_session();
    assert_true(second != first);
    assert_int_equal(p11->C_GetSessionInfo(first, &info),
                     CKR_SESSION_HANDLE_INVALID);
    assert_int_equal(p11->C_GetSessionInfo(second, &info), CKR_OK);
    assert_int_equal(p11->C_GetSessionInfo(0, &info),
                     CKR_SESSION_HANDLE_INVALID);
    assert_int_equal(p11->C_GetSessionInfo(~0UL, &info),
                     CKR_SESSION_HANDLE_INVALID);
    assert_int_equal(p11->C_GetSessionInfo(second, NULL), CKR_ARGUMENTS_BAD);
}

static CK_STATE state_of(CK_SESSION_HANDLE session)
{
    CK_SESSION_INFO info;

    assert_int_equal(p11->C_GetSessionInfo(session, &info), CKR_OK);
    return info.state;
}

/* The token needs no login and has no PIN: any one is right. */
TEST_IN(login, begin, test_token_end)
{
    CK_SESSION_HANDLE reads = test_token_session(), writes;
    CK_TOKEN_INFO about;

    assert_int_equal(p11->C_GetTokenInfo(0, &about), CKR_OK);
    assert_int_equal(about.flags & (CKF_LOGIN_REQUIRED | CKF_SO_PIN_LOCKED),
                     CKF_SO_PIN_LOCKED);
    assert_int_equal(p11->C_OpenSession(0, CKF_SERIAL_SESSION | CKF_RW_SESSION,
                                        NULL, NULL, &writes),
                     CKR_OK);
    assert_int_equal(p11->C_Logout(reads), CKR_USER_NOT_LOGGED_IN);
    assert_int_equal(p11->C_Login(reads, CKU_USER, NULL, 1), CKR_ARGUMENTS_BAD);
    assert_int_equal(p11->C_Login(reads, CKU_SO, NULL, 0), CKR_PIN_LOCKED);
    assert_int_equal(state_of(reads), CKS_RO_PUBLIC_SESSION);
    assert_int_equal(state_of(writes), CKS_RW_PUBLIC_SESSION);
    assert_int_equal(p11->C_Login(reads, CKU_USER, (CK_BYTE *)"1", 1), CKR_OK);
    assert_int_equal(state_of(reads), CKS_RO_USER_FUNCTIONS);
    assert_int_equal(state_of(writes), CKS_RW_USER_FUNCTIONS);
    assert_int_equal(p11->C_Login(writes, CKU_USER, (CK_BYTE *)"1", 1),
                     CKR_USER_ALREADY_LOGGED_IN);
    assert_int_equal(p11->C_Login(reads, CKU_SO, NULL, 0),
                     CKR_USER_ANOTHER_ALREADY_LOGGED_IN);
    assert_int_equal(p11->C_Login(reads, CKU_CONTEXT_SPECIFIC, NULL, 0),
                     CKR_OPERATION_NOT_INITIALIZED);
    assert_int_equal(p11->C_Login(reads, 99, NULL, 0), CKR_USER_TYPE_INVALID);
    assert_int_equal(p11->C_Logout(writes), CKR_OK);
    assert_int_equal(p11->C_Logout(writes), CKR_USER_NOT_LOGGED_IN);
    assert_int_equal(p11->C_LoginUser(reads, CKU_USER, NULL, 0, NULL, 0),
                     CKR_OK);
}

/* The user is logged out with the last session, not before. */
TEST_IN(login_ends_with_sessions, begin, test_token_end)
{
    CK_SESSION_HANDLE first = test_token_session();
    CK_SESSION_HANDLE second = test_token_session();

    assert_int_equal(p11->C_Login(first, CKU_USER, NULL, 0), CKR_OK);
    assert_int_equal(p11->C_CloseSession(first), CKR_OK);
    assert_int_equal(state_of(second), CKS_RO_USER_FUNCTIONS);
    assert_int_equal(p11->C_CloseSession(second), CKR_OK);
    assert_int_equal(state_of(test_token_session()), CKS_RO_PUBLIC_SESSION);
}

/* ---- objects ---- */

static CK_ULONG count_objects(CK_SESSION_HANDLE session, CK_ATTRIBUTE *template,
                              CK_ULONG count)
{
    CK_OBJECT_HANDLE found[2 * OBJECTS];
    CK_ULONG some = 0, all = 0;

    assert_int_equal(p11->C_FindObjectsInit(session, template, count), CKR_OK);
    assert_int_equal(p11->C_FindObjectsInit(session, template, count),
                     CKR_OPERATION_ACTIVE);
    do {
        assert_int_equal(p11->C_FindObjects(session, found, 3, &some), CKR_OK);
        all += some;
    } while (some > 0);
    assert_int_equal(p11->C_FindObjectsFinal(session), CKR_OK);
    assert_int_equal(p11->C_FindObjectsFinal(session),
                     CKR_OPERATION_NOT_INITIALIZED);
    return all;
}

TEST_IN(searches, begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();
    CK_OBJECT_CLASS class = CKO_PRIVATE_KEY, secret = CKO_SECRET_KEY;
    CK_BBOOL yes = CK_TRUE;
    CK_ATTRIBUTE by_class[] = {{CKA_CLASS, &class, sizeof(class)},
                               {CKA_TOKEN, &yes, sizeof(yes)}};
    CK_ATTRIBUTE by_decrypt[] = {{CKA_DECRYPT, &yes, sizeof(yes)}};
    CK_ATTRIBUTE unknown[] = {{CKA_PRIME, &yes, sizeof(yes)}};
    CK_ATTRIBUTE sensitive[] = {{CKA_PRIVATE_EXPONENT, &yes, sizeof(yes)}};
    CK_ATTRIBUTE secrets[] = {{CKA_CLASS, &secret, sizeof(secret)}};

    assert_int_equal(count_objects(session, NULL, 0), OBJECTS);
    assert_int_equal(count_objects(session, by_class, 2), 3);
    assert_int_equal(count_objects(session, by_decrypt, 1), 2);
    assert_int_equal(count_objects(session, unknown, 1), 0);
    assert_int_equal(count_objects(session, sensitive, 1), 0);
    assert_int_equal(count_objects(session, secrets, 1), 0);
}

/* An attribute with a value in a buffer. */
static size_t get(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object,
                  CK_ATTRIBUTE_TYPE type, void *value, size_t size)
{
    CK_ATTRIBUTE attribute = {type, value, size};

    assert_int_equal(p11->C_GetAttributeValue(session, object, &attribute, 1),
                     CKR_OK);
    return attribute.ulValueLen;
}

TEST_IN(attributes_of_a_key, begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();
    const CK_OBJECT_HANDLE private = test_token_private(session, "www");
    const CK_OBJECT_HANDLE public = test_token_public(session, "www");
    const CK_OBJECT_HANDLE certificate =
        test_token_find(session, CKO_CERTIFICATE, "www");
    uint8_t id[20], other[20], modulus[256], value[4096], sha1[20], *der = NULL;
    CK_ULONG number = 0;
    CK_BBOOL truth = 9;
    int bytes = 0;

    assert_int_equal(get(session, private, CKA_ID, id, sizeof(id)), 20);
    assert_int_equal(get(session, public, CKA_ID, other, sizeof(other)), 20);
    assert_memory_equal(id, other, sizeof(id));
    assert_int_equal(get(session, certificate, CKA_ID, other, 20), 20);
    assert_memory_equal(id, other, sizeof(id));
    assert_int_equal(get(session, private, CKA_MODULUS, modulus, 256), 256);
    SHA1(modulus, sizeof(modulus), sha1);
    assert_memory_equal(id, sha1, sizeof(id));
    (void)get(session, public, CKA_MODULUS_BITS, &number, sizeof(number));
    assert_int_equal(number, 2048);
    assert_int_equal(get(session, public, CKA_PUBLIC_EXPONENT, value, 8), 3);
    assert_memory_equal(value, "\1\0\1", 3);
    bytes = i2d_PUBKEY(token.www, &der);
    assert_int_equal(
        get(session, private, CKA_PUBLIC_KEY_INFO, value, sizeof(value)),
        bytes);
    assert_memory_equal(value, der, (size_t)bytes);
    OPENSSL_free(der);
    der = NULL;
    bytes = i2d_X509(token.certificate, &der);
    assert_int_equal(get(session, certificate, CKA_VALUE, value, sizeof(value)),
                     bytes);
    assert_memory_equal(value, der, (size_t)bytes);
    OPENSSL_free(der);
    (void)get(session, private, CKA_SENSITIVE, &truth, 1);
    assert_int_equal(truth, CK_TRUE);
    (void)get(session, private, CKA_EXTRACTABLE, &truth, 1);
    assert_int_equal(truth, CK_FALSE);
    /* By the rules: raw signs numbers, pss by one mechanism and its hash. */
    assert_int_equal(get(session, test_token_private(session, "raw"),
                         CKA_ALLOWED_MECHANISMS, &number, sizeof(number)),
                     sizeof(number));
    assert_int_equal(number, CKM_RSA_X_509);
    (void)get(session, test_token_private(session, "pss"), CKA_DECRYPT, &truth,
              1);
    assert_int_equal(truth, CK_FALSE);
}

/* All attributes of a template are processed, whatever is wrong with some. */
TEST_IN(attributes_that_fail, begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();
    const CK_OBJECT_HANDLE private = test_token_private(session, "www");
    uint8_t small[255], exponent[256], text[16];
    CK_ATTRIBUTE template[] = {
        {CKA_MODULUS, small, sizeof(small)},
        {CKA_PRIVATE_EXPONENT, exponent, sizeof(exponent)},
        {CKA_PRIME_1, NULL, 0},
        {CKA_VALUE, text, sizeof(text)},
        {CKA_MODULUS, NULL, 0},
        {CKA_LABEL, text, sizeof(text)},
    };
    static const CK_ATTRIBUTE_TYPE secrets[] = {
        CKA_PRIVATE_EXPONENT, CKA_PRIME_1,    CKA_PRIME_2,
        CKA_EXPONENT_1,       CKA_EXPONENT_2, CKA_COEFFICIENT,
    };
    CK_RV rv;

    memset(exponent, 0x5a, sizeof(exponent));
    rv = p11->C_GetAttributeValue(session, private, template, 6);
    assert_true(rv == CKR_ATTRIBUTE_SENSITIVE ||
                rv == CKR_ATTRIBUTE_TYPE_INVALID || rv == CKR_BUFFER_TOO_SMALL);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(template[i].ulValueLen, CK_UNAVAILABLE_INFORMATION);
    assert_int_equal(template[4].ulValueLen, 256);
    assert_int_equal(template[5].ulValueLen, 3);
    assert_memory_equal(text, "www", 3);
    for (unsigned i = 0; i < sizeof(exponent); i++)
        assert_int_equal(exponent[i], 0x5a);
    for (unsigned i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
        CK_ATTRIBUTE one = {secrets[i], exponent, sizeof(exponent)};

        assert_int_equal(p11->C_GetAttributeValue(session, private, &one, 1),
                         CKR_ATTRIBUTE_SENSITIVE);
    }
}

/* A key that comes and goes has the same handle when it is there again. */
TEST_IN(keys_that_come_and_go, begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();
    CK_MECHANISM mechanism = {CKM_SHA256_RSA_PKCS, NULL, 0};
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)1024);
    CK_OBJECT_HANDLE object;
    uint8_t signature[128];
    CK_ULONG bytes = sizeof(signature);

    assert_int_equal(test_token_private(session, "new"), CK_INVALID_HANDLE);
    test_token_add_key("new", key);
    object = test_token_private(session, "new");
    assert_true(object != CK_INVALID_HANDLE);
    assert_int_equal(p11->C_SignInit(session, &mechanism, object), CKR_OK);
    test_token_remove_key("new");
    assert_int_equal(p11->C_Sign(session, (CK_BYTE *)"a", 1, signature, &bytes),
                     CKR_KEY_FUNCTION_NOT_PERMITTED);
    assert_int_equal(test_token_private(session, "new"), CK_INVALID_HANDLE);
    assert_int_equal(p11->C_SignInit(session, &mechanism, object),
                     CKR_KEY_HANDLE_INVALID);
    test_token_add_key("new", key);
    assert_int_equal(test_token_private(session, "new"), object);
    assert_int_equal(p11->C_SignInit(session, &mechanism, object), CKR_OK);
    assert_int_equal(p11->C_Sign(session, (CK_BYTE *)"a", 1, signature, &bytes),
                     CKR_OK);
    test_token_remove_key("new");
    EVP_PKEY_free(key);
}

/* A certificate of the token's authority. */
static X509 *make_certificate(EVP_PKEY *key, const char *name)
{
    X509 *made = X509_new();

    assert_non_null(made);
    X509_gmtime_adj(X509_getm_notBefore(made), 0);
    X509_gmtime_adj(X509_getm_notAfter(made), 86400);
    assert_int_equal(X509_set_pubkey(made, key), 1);
    assert_int_equal(X509_NAME_add_entry_by_txt(
                         X509_get_subject_name(made), "CN", MBSTRING_UTF8,
                         (const unsigned char *)name, -1, -1, 0),
                     1);
    assert_true(X509_sign(made, token.authority_key, EVP_sha256()) > 0);
    return made;
}

/* Writes the certificates of the key `new`. */
static void write_certificates(const char *path, X509 *own, X509 *authority)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, own), 1);
    assert_int_equal(PEM_write_X509(file, authority), 1);
    assert_int_equal(fclose(file), 0);
}

/* The only object with the subject of a certificate. */
static CK_OBJECT_HANDLE find_subject(CK_SESSION_HANDLE session,
                                     const X509 *certificate)
{
    uint8_t *der = NULL;
    const int bytes = i2d_X509_NAME(X509_get_subject_name(certificate), &der);
    CK_ATTRIBUTE by_subject = {CKA_SUBJECT, der, (CK_ULONG)bytes};
    CK_OBJECT_HANDLE found[2] = {0};
    CK_ULONG count = 0;

    assert_int_equal(p11->C_FindObjectsInit(session, &by_subject, 1), CKR_OK);
    assert_int_equal(p11->C_FindObjects(session, found, 2, &count), CKR_OK);
    assert_int_equal(p11->C_FindObjectsFinal(session), CKR_OK);
    assert_int_equal(count, 1);
    OPENSSL_free(der);
    return found[0];
}

/* A label is UTF-8: where an authority's name is too long for one, no character
 * of it is cut. A common name has up to 64 of them (RFC 5280, A.1), here of two
 * bytes each. */
TEST_IN(label_of_a_long_name, begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)1024);
    char path[200], name[129] = "", label[200];
    X509 *own = NULL, *authority = NULL;
    size_t bytes = 0;

    for (unsigned i = 0; i < 64; i++)
        strcat(name, "\xc3\xa4");
    own = make_certificate(key, "new.example.org");
    authority = make_certificate(token.authority_key, name);
    snprintf(path, sizeof(path), "%s/keys/new.crt", token.directory);
    write_certificates(path, own, authority);
    test_token_add_key("new", key);
    bytes = get(session, find_subject(session, authority), CKA_LABEL, label,
                sizeof(label));
    assert_int_equal(bytes, 126);
    assert_memory_equal(label, name, bytes);
    assert_int_equal(unlink(path), 0);
    test_token_remove_key("new");
    X509_free(own);
    X509_free(authority);
    EVP_PKEY_free(key);
}

/* ---- errors ---- */

TEST_IN(what_is_refused, begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();
    const CK_OBJECT_HANDLE key = test_token_private(session, "www");
    CK_OBJECT_HANDLE made = 0;
    CK_MECHANISM mechanism = {CKM_RSA_PKCS, NULL, 0};
    CK_BYTE bytes[16];
    CK_ULONG count = sizeof(bytes);

    assert_int_equal(p11->C_CreateObject(session, NULL, 0, &made),
                     CKR_TOKEN_WRITE_PROTECTED);
    assert_int_equal(p11->C_CopyObject(session, key, NULL, 0, &made),
                     CKR_ACTION_PROHIBITED);
    assert_int_equal(p11->C_DestroyObject(session, key), CKR_ACTION_PROHIBITED);
    assert_int_equal(p11->C_DestroyObject(session, key + 4000),
                     CKR_OBJECT_HANDLE_INVALID);
    assert_int_equal(p11->C_SetAttributeValue(session, key, NULL, 0),
                     CKR_ACTION_PROHIBITED);
    assert_int_equal(p11->C_GenerateKey(session, &mechanism, NULL, 0, &made),
                     CKR_FUNCTION_NOT_SUPPORTED);
    assert_int_equal(
        p11->C_WrapKey(session, &mechanism, key, key, bytes, &count),
        CKR_FUNCTION_NOT_SUPPORTED);
    assert_int_equal(p11->C_GetOperationState(session, bytes, &count),
                     CKR_STATE_UNSAVEABLE);
    assert_int_equal(p11->C_SeedRandom(session, bytes, count),
                     CKR_RANDOM_SEED_NOT_SUPPORTED);
    assert_int_equal(p11->C_InitPIN(session, NULL, 0),
                     CKR_TOKEN_WRITE_PROTECTED);
    assert_int_equal(p11->C_GetFunctionStatus(session),
                     CKR_FUNCTION_NOT_PARALLEL);
    assert_int_equal(p11->C_MessageSignInit(session, &mechanism, key),
                     CKR_FUNCTION_NOT_SUPPORTED);
    assert_int_equal(p11->C_MessageVerifyFinal(session + 1),
                     CKR_SESSION_HANDLE_INVALID);
    assert_int_equal(p11->C_GenerateRandom(session, bytes, sizeof(bytes)),
                     CKR_OK);
}

TEST_IN(signing_errors, begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();
    const CK_OBJECT_HANDLE www = test_token_private(session, "www");
    const CK_OBJECT_HANDLE raw = test_token_private(session, "raw");
    CK_MECHANISM pkcs = {CKM_RSA_PKCS, NULL, 0},
                 x509 = {CKM_RSA_X_509, NULL, 0};
    CK_MECHANISM sha256 = {CKM_SHA256, NULL, 0}, odd = {0x12345, NULL, 0};
    CK_RSA_PKCS_PSS_PARAMS parameter = {CKM_SHA256, CKG_MGF1_SHA256, 222};
    CK_MECHANISM pss = {CKM_RSA_PKCS_PSS, &parameter, sizeof(parameter)};
    uint8_t data[300] = {1}, signature[300];
    CK_ULONG bytes = sizeof(signature);

    assert_int_equal(p11->C_Sign(session, data, 1, signature, &bytes),
                     CKR_OPERATION_NOT_INITIALIZED);
    assert_int_equal(p11->C_SignInit(session, &odd, www),
                     CKR_MECHANISM_INVALID);
    assert_int_equal(p11->C_SignInit(session, &sha256, www),
                     CKR_MECHANISM_INVALID);
    assert_int_equal(p11->C_SignInit(session, &x509, www),
                     CKR_MECHANISM_INVALID);
    assert_int_equal(p11->C_SignInit(session, NULL, www), CKR_ARGUMENTS_BAD);
    assert_int_equal(p11->C_SignInit(session, &pkcs, 0),
                     CKR_KEY_HANDLE_INVALID);
    assert_int_equal(
        p11->C_SignInit(session, &pkcs, test_token_public(session, "www")),
        CKR_KEY_TYPE_INCONSISTENT);
    assert_int_equal(
        p11->C_SignInit(session, &pkcs,
                        test_token_find(session, CKO_CERTIFICATE, "www")),
        CKR_KEY_HANDLE_INVALID);
    assert_int_equal(
        p11->C_DecryptInit(session, &pkcs, test_token_private(session, "pss")),
        CKR_KEY_FUNCTION_NOT_PERMITTED);
    /* 32 + 222 + 2 is the whole of 256; one more is too long. */
    assert_int_equal(p11->C_SignInit(session, &pss, www), CKR_OK);
    assert_int_equal(p11->C_SignInit(session, &pss, www), CKR_OPERATION_ACTIVE);
    assert_int_equal(p11->C_SignInit(session, NULL, www), CKR_OK); /* cancels */
    parameter.sLen = 223;
    assert_int_equal(p11->C_SignInit(session, &pss, www), CKR_KEY_SIZE_RANGE);
    parameter.mgf = 77;
    assert_int_equal(p11->C_SignInit(session, &pss, www),
                     CKR_MECHANISM_PARAM_INVALID);
    pss.ulParameterLen--;
    assert_int_equal(p11->C_SignInit(session, &pss, www),
                     CKR_MECHANISM_PARAM_INVALID);
    pss.pParameter = NULL;
    assert_int_equal(p11->C_SignInit(session, &pss, www), CKR_ARGUMENTS_BAD);
    /* Each error of C_Sign ends the operation. */
    assert_int_equal(p11->C_SignInit(session, &pkcs, www), CKR_OK);
    assert_int_equal(p11->C_Sign(session, data, 246, signature, &bytes),
                     CKR_DATA_LEN_RANGE);
    assert_int_equal(p11->C_Sign(session, data, 1, signature, &bytes),
                     CKR_OPERATION_NOT_INITIALIZED);
    assert_int_equal(p11->C_SignInit(session, &pkcs, www), CKR_OK);
    assert_int_equal(p11->C_Sign(session, NULL, 1, signature, &bytes),
                     CKR_ARGUMENTS_BAD);
    assert_int_equal(p11->C_SignInit(session, &pkcs, www), CKR_OK);
    assert_int_equal(p11->C_SignUpdate(session, data, 1), CKR_OK);
    assert_int_equal(p11->C_Sign(session, data, 1, signature, &bytes),
                     CKR_OPERATION_ACTIVE);
    assert_int_equal(p11->C_SessionCancel(session, CKF_SIGN), CKR_OK);
    assert_int_equal(p11->C_SignFinal(session, signature, &bytes),
                     CKR_OPERATION_NOT_INITIALIZED);
    memset(data, 0xff, sizeof(data));
    assert_int_equal(p11->C_SignInit(session, &x509, raw), CKR_OK);
    assert_int_equal(p11->C_Sign(session, data, 128, signature, &bytes),
                     CKR_DATA_INVALID);
    assert_int_equal(p11->C_SignInit(session, &x509, raw), CKR_OK);
    assert_int_equal(p11->C_Sign(session, data, 129, signature, &bytes),
                     CKR_DATA_LEN_RANGE);
}

TEST_IN(verifying_errors, begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();
    const CK_OBJECT_HANDLE www = test_token_public(session, "www");
    CK_MECHANISM pkcs = {CKM_SHA256_RSA_PKCS, NULL, 0};
    CK_MECHANISM plain = {CKM_RSA_PKCS, NULL, 0};
    uint8_t signature[256] = {0};
    CK_ULONG bytes = sizeof(signature);

    assert_int_equal(
        p11->C_VerifyInit(session, &pkcs, test_token_private(session, "www")),
        CKR_KEY_TYPE_INCONSISTENT);
    assert_int_equal(p11->C_VerifyInit(session, &pkcs, www), CKR_OK);
    assert_int_equal(p11->C_Verify(session, signature, 1, signature, 255),
                     CKR_SIGNATURE_LEN_RANGE);
    assert_int_equal(p11->C_VerifyInit(session, &pkcs, www), CKR_OK);
    assert_int_equal(p11->C_Verify(session, signature, 1, signature, 256),
                     CKR_SIGNATURE_INVALID);
    assert_int_equal(p11->C_VerifyRecoverInit(session, &plain, www), CKR_OK);
    assert_int_equal(
        p11->C_VerifyRecover(session, signature, 256, signature, &bytes),
        CKR_SIGNATURE_INVALID);
    assert_int_equal(
        p11->C_EncryptInit(session, &plain, test_token_public(session, "pss")),
        CKR_KEY_FUNCTION_NOT_PERMITTED);
    assert_int_equal(p11->C_EncryptInit(session, &plain, www), CKR_OK);
    assert_int_equal(p11->C_Encrypt(session, signature, 246, signature, &bytes),
                     CKR_DATA_LEN_RANGE);
}

/* ---- threads ---- */

static void *sign_often(void *arg)
{
    CK_SESSION_HANDLE session = test_token_session();
    const CK_OBJECT_HANDLE key = test_token_private(session, "raw");
    CK_MECHANISM mechanism = {CKM_RSA_X_509, NULL, 0};
    uint8_t signature[128];
    CK_ULONG bytes = sizeof(signature);
    unsigned *signed_right = arg;

    for (unsigned i = 0; i < ROUNDS; i++)
        if (p11->C_SignInit(session, &mechanism, key) == CKR_OK &&
            p11->C_Sign(session, (CK_BYTE *)"x", 1, signature, &bytes) ==
                CKR_OK)
            (*signed_right)++;
    (void)p11->C_CloseSession(session);
    return NULL;
}

TEST_IN(threads_at_once, begin, test_token_end)
{
    pthread_t threads[THREADS];
    unsigned signed_right[THREADS] = {0};

    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, sign_often, &signed_right[i]), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(signed_right[i], ROUNDS);
    }
}

RUN_TESTS(test_token_begin_group, test_token_end_group)
