/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The mandatory test cases of OASIS' PKCS #11 Profiles Version 3.1 for
 * providers: each is a sequence of calls and of what they return. What stands
 * there for a token of another kind is not here; doc/pkcs11.md has the table.
 * The keys and certificates are those of token_support.h.
 */
#include "tests/unit/support/token_support.h"

#include <stdbool.h>
#include <string.h>

#include <openssl/bn.h>

enum {
    BYTES = 256, /* of the modulus, and of a signature */
    REQUEST_BYTES = 391,
};

static CK_FUNCTION_LIST_3_0 *p11;
static CK_BBOOL yes = CK_TRUE;

/* ---- steps that cases share ---- */

/* C_Initialize to C_GetSlotList: the slot, of which the list has no other. */
static CK_SLOT_ID find_slot(void)
{
    CK_INFO info;
    CK_SLOT_ID slots[1] = {99};
    CK_ULONG count = 0;

    p11 = token.p11;
    assert_int_equal(p11->C_Initialize(test_token_arguments(600000)), CKR_OK);
    assert_int_equal(p11->C_GetInfo(&info), CKR_OK);
    assert_int_equal(info.cryptokiVersion.major, 3);
    assert_int_equal(info.cryptokiVersion.minor, 1);
    assert_int_equal(info.flags, 0);
    assert_int_equal(p11->C_GetSlotList(CK_TRUE, NULL, &count), CKR_OK);
    assert_int_equal(count, 1);
    assert_int_equal(p11->C_GetSlotList(CK_TRUE, slots, &count), CKR_OK);
    assert_int_equal(count, 1);
    return slots[0];
}

static void look_at_slot(CK_SLOT_ID slot)
{
    CK_SLOT_INFO about_slot;
    CK_TOKEN_INFO about_token;

    assert_int_equal(p11->C_GetSlotInfo(slot, &about_slot), CKR_OK);
    assert_int_equal(about_slot.flags, CKF_TOKEN_PRESENT);
    assert_int_equal(p11->C_GetTokenInfo(slot, &about_token), CKR_OK);
    assert_int_equal(about_token.flags & (CKF_RNG | CKF_TOKEN_INITIALIZED),
                     CKF_RNG | CKF_TOKEN_INITIALIZED);
    assert_int_equal(about_token.ulSessionCount, 0);
    assert_int_equal(about_token.ulRwSessionCount, 0);
}

static CK_SESSION_HANDLE open_session(CK_SLOT_ID slot, CK_FLAGS flags)
{
    CK_SESSION_HANDLE session = CK_INVALID_HANDLE;

    assert_int_equal(p11->C_OpenSession(slot, flags | CKF_SERIAL_SESSION, NULL,
                                        NULL, &session),
                     CKR_OK);
    return session;
}

static void begin_search(CK_SESSION_HANDLE session, CK_ATTRIBUTE *template,
                         CK_ULONG count)
{
    assert_int_equal(p11->C_FindObjectsInit(session, template, count), CKR_OK);
}

static CK_ULONG found(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE *objects,
                      CK_ULONG most)
{
    CK_ULONG count = 0;

    assert_int_equal(p11->C_FindObjects(session, objects, most, &count),
                     CKR_OK);
    assert_true(count <= most);
    return count;
}

static void end_search(CK_SESSION_HANDLE session)
{
    assert_int_equal(p11->C_FindObjectsFinal(session), CKR_OK);
}

static void find_any_object(CK_SESSION_HANDLE session)
{
    CK_ATTRIBUTE on_token = {CKA_TOKEN, &yes, sizeof(yes)};
    CK_OBJECT_HANDLE object = CK_INVALID_HANDLE;

    begin_search(session, &on_token, 1);
    assert_int_equal(found(session, &object, 1), 1);
    assert_true(object != CK_INVALID_HANDLE);
    end_search(session);
}

static CK_OBJECT_HANDLE find_key(CK_SESSION_HANDLE session,
                                 CK_OBJECT_CLASS class)
{
    CK_ATTRIBUTE template[] = {
        {CKA_TOKEN, &yes, sizeof(yes)},
        {CKA_LABEL, "www", 3},
        {CKA_CLASS, &class, sizeof(class)},
    };
    CK_OBJECT_HANDLE object = CK_INVALID_HANDLE;

    begin_search(session, template, 3);
    assert_int_equal(found(session, &object, 1), 1);
    end_search(session);
    return object;
}

static void log_in(CK_SESSION_HANDLE session)
{
    assert_int_equal(p11->C_Login(session, CKU_USER, (CK_BYTE *)"4711", 4),
                     CKR_OK);
}

/* C_CloseSession to C_Finalize. */
static void end(CK_SLOT_ID slot, CK_SESSION_HANDLE session)
{
    assert_int_equal(p11->C_CloseSession(session), CKR_OK);
    assert_int_equal(p11->C_CloseAllSessions(slot), CKR_OK);
    assert_int_equal(p11->C_Finalize(NULL), CKR_OK);
}

/* ---- the cases ---- */

TEST(BL_M_1_31)
{
    const CK_SLOT_ID slot = find_slot();
    CK_SESSION_HANDLE session;

    look_at_slot(slot);
    session = open_session(slot, 0);
    find_any_object(session);
    end(slot, session);
}

/* The list of mechanisms has this one, with these of the flags. */
static void look_at_mechanism(CK_SLOT_ID slot, CK_MECHANISM_TYPE type,
                              CK_FLAGS flags, CK_ULONG longest)
{
    CK_MECHANISM_TYPE types[100];
    CK_MECHANISM_INFO info;
    CK_ULONG count = 0, at = 0;

    assert_int_equal(p11->C_GetMechanismList(slot, NULL, &count), CKR_OK);
    assert_in_range(count, 1, 100);
    assert_int_equal(p11->C_GetMechanismList(slot, types, &count), CKR_OK);
    while (at < count && types[at] != type)
        at++;
    assert_true(at < count);
    assert_int_equal(p11->C_GetMechanismInfo(slot, type, &info), CKR_OK);
    assert_int_equal(info.flags & flags, flags);
    assert_int_equal(info.ulMaxKeySize, longest);
}

TEST(EXT_M_1_31)
{
    const CK_SLOT_ID slot = find_slot();
    CK_MECHANISM_INFO info;
    CK_SESSION_HANDLE session;

    look_at_slot(slot);
    look_at_mechanism(slot, CKM_SHA512, CKF_DIGEST, 0);
    look_at_mechanism(slot, CKM_RSA_PKCS,
                      CKF_ENCRYPT | CKF_DECRYPT | CKF_SIGN | CKF_VERIFY, 16384);
    /* The token makes no keys: the mechanism is none of its own. */
    assert_int_equal(
        p11->C_GetMechanismInfo(slot, CKM_RSA_PKCS_KEY_PAIR_GEN, &info),
        CKR_MECHANISM_INVALID);
    session = open_session(slot, CKF_RW_SESSION);
    log_in(session);
    find_any_object(session);
    assert_int_equal(p11->C_Logout(session), CKR_OK);
    end(slot, session);
}

/* The public key of the token is www's. */
static void check_public_key(CK_SESSION_HANDLE session)
{
    CK_BYTE modulus[1024], exponent[1024], wanted[BYTES];
    CK_ATTRIBUTE template[] = {
        {CKA_MODULUS, modulus, sizeof(modulus)},
        {CKA_PUBLIC_EXPONENT, exponent, sizeof(exponent)},
    };
    BIGNUM *n = NULL;

    assert_int_equal(p11->C_GetAttributeValue(session,
                                              find_key(session, CKO_PUBLIC_KEY),
                                              template, 2),
                     CKR_OK);
    assert_int_equal(EVP_PKEY_get_bn_param(token.www, "n", &n), 1);
    assert_int_equal(BN_bn2binpad(n, wanted, BYTES), BYTES);
    BN_free(n);
    assert_int_equal(template[0].ulValueLen, BYTES);
    assert_memory_equal(modulus, wanted, BYTES);
    assert_int_equal(template[1].ulValueLen, 3);
    assert_memory_equal(exponent, "\1\0\1", 3);
}

TEST(AUTH_M_1_31)
{
    const CK_SLOT_ID slot = find_slot();
    CK_SESSION_HANDLE session = open_session(slot, CKF_RW_SESSION);
    CK_MECHANISM mechanism = {CKM_SHA256_RSA_PKCS, NULL, 0};
    CK_BYTE request[REQUEST_BYTES] = {0x30}, signature[BYTES], wanted[BYTES];
    EVP_MD_CTX *hashing = EVP_MD_CTX_new();
    CK_ULONG bytes = sizeof(signature);
    size_t length = sizeof(wanted);

    log_in(session);
    check_public_key(session);
    assert_int_equal(p11->C_SignInit(session, &mechanism,
                                     find_key(session, CKO_PRIVATE_KEY)),
                     CKR_OK);
    assert_int_equal(
        p11->C_Sign(session, request, sizeof(request), signature, &bytes),
        CKR_OK);
    /* There is one signature of PKCS #1 v1.5, and libcrypto's is the same. */
    assert_int_equal(EVP_DigestSignInit_ex(hashing, NULL, "SHA256", NULL, NULL,
                                           token.www, NULL),
                     1);
    assert_int_equal(
        EVP_DigestSign(hashing, wanted, &length, request, sizeof(request)), 1);
    EVP_MD_CTX_free(hashing);
    assert_int_equal(bytes, length);
    assert_memory_equal(signature, wanted, length);
    assert_int_equal(p11->C_Logout(session), CKR_OK);
    end(slot, session);
}

/* Reads an attribute as the case does: its length first, then its value. */
static CK_ULONG read_attribute(CK_SESSION_HANDLE session,
                               CK_OBJECT_HANDLE object, CK_ATTRIBUTE_TYPE type,
                               CK_BYTE *value, CK_ULONG size)
{
    CK_ATTRIBUTE attribute = {type, NULL, 0};

    assert_int_equal(p11->C_GetAttributeValue(session, object, &attribute, 1),
                     CKR_OK);
    assert_in_range(attribute.ulValueLen, 1, size);
    attribute.pValue = value;
    assert_int_equal(p11->C_GetAttributeValue(session, object, &attribute, 1),
                     CKR_OK);
    return attribute.ulValueLen;
}

/* Whether an object is the certificate of www, which is compared then. */
static bool is_certificate(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object)
{
    CK_OBJECT_CLASS class = CKO_DATA;
    CK_BYTE label[100], value[4096], *der = NULL;
    CK_ULONG bytes = read_attribute(session, object, CKA_LABEL, label, 100);

    (void)read_attribute(session, object, CKA_CLASS, (CK_BYTE *)&class,
                         sizeof(class));
    if (class != CKO_CERTIFICATE || bytes != 3 || memcmp(label, "www", 3) != 0)
        return false;
    bytes = read_attribute(session, object, CKA_VALUE, value, sizeof(value));
    assert_int_equal(bytes, i2d_X509(token.certificate, &der));
    assert_memory_equal(value, der, bytes);
    OPENSSL_free(der);
    return true;
}

/* Certificates are found and read without a login. */
TEST(CERT_M_1_31)
{
    const CK_SLOT_ID slot = find_slot();
    CK_SESSION_HANDLE session = open_session(slot, 0);
    CK_ATTRIBUTE on_token = {CKA_TOKEN, &yes, sizeof(yes)};
    CK_OBJECT_HANDLE objects[5];
    CK_ULONG count = 0;
    unsigned certificates = 0;

    begin_search(session, &on_token, 1);
    while ((count = found(session, objects, 5)) > 0)
        for (CK_ULONG i = 0; i < count; i++)
            certificates += is_certificate(session, objects[i]);
    assert_int_equal(certificates, 1);
    end_search(session);
    end(slot, session);
}

RUN_TESTS(test_token_begin_group, test_token_end_group)
