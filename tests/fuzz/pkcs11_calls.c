/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzer: calls of the PKCS #11 module in any order, with handles, templates,
 * mechanisms, sizes and pointers that are right, nearly right or rubbish. The
 * module is in this process, and so is the daemon, whose vault has real public
 * keys and certificates. Every buffer ends where its length says, so that a
 * sanitizer sees each byte too much. After C_Finalize nothing is left at the
 * daemon.
 *
 * A length is never larger than its buffer: no library can survive that.
 */
#include "tests/fuzz/fuzz_daemon.h"
#include "tests/fuzz/fuzz_input.h"

#include <stdio.h>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "pkcs11/cryptoki.h"

enum {
    STEPS = 48,
    SESSIONS = 4,
    OBJECTS = 16,
    BLOCKS = 32, /* of one step */
    FIRST_KEY = FAKE_VAULT_KEYS - 4,
    MODULUS_BYTES = 128,
};

typedef struct script {
    fuzz_input in;
    CK_SESSION_HANDLE sessions[SESSIONS];
    CK_OBJECT_HANDLE objects[OBJECTS];
    void *blocks[BLOCKS];
    unsigned block_count;
} script;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the vault ---- */

static EVP_PKEY *public_key(unsigned seed)
{
    uint8_t number[MODULUS_BYTES];
    BIGNUM *n = NULL, *e = BN_new();
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    OSSL_PARAM *params = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    EVP_PKEY *key = NULL;

    memset(number, (int)(0xc1 + 2 * seed), sizeof(number));
    n = BN_bin2bn(number, sizeof(number), NULL);
    assert_true(BN_set_word(e, RSA_F4) == 1);
    assert_true(OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n) == 1);
    assert_true(OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e) == 1);
    params = OSSL_PARAM_BLD_to_param(build);
    assert_true(EVP_PKEY_fromdata_init(ctx) == 1);
    assert_true(EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) == 1);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(build);
    EVP_PKEY_CTX_free(ctx);
    BN_free(n);
    BN_free(e);
    return key;
}

/* Adds a certificate of the key to the PEM. */
static void certify(BIO *pem, EVP_PKEY *key, const char *subject)
{
    EVP_PKEY *issuer = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    X509 *certificate = X509_new();
    X509_NAME *name = X509_get_subject_name(certificate);

    assert_true(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                           (const unsigned char *)subject, -1,
                                           -1, 0) == 1);
    assert_true(X509_set_issuer_name(certificate, name) == 1);
    assert_true(ASN1_INTEGER_set(X509_get_serialNumber(certificate), 7) == 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(certificate), 0));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(certificate), 1000));
    assert_true(X509_set_pubkey(certificate, key) == 1);
    assert_true(X509_sign(certificate, issuer, NULL) > 0);
    assert_true(PEM_write_bio_X509(pem, certificate) == 1);
    X509_free(certificate);
    EVP_PKEY_free(issuer);
}

/* A key without certificates, one with its own, one with a chain, and one that
 * is no RSA key. */
static void fill_vault(void)
{
    static uint8_t spki[3][512];
    static char text[3][8192];

    fake_vault.unknown_before = FIRST_KEY;
    fake_vault.all_rights = true;
    for (unsigned i = 0; i < 3; i++) {
        EVP_PKEY *key = public_key(i);
        BIO *pem = BIO_new(BIO_s_mem());
        uint8_t *at = spki[i];
        const int bytes = i2d_PUBKEY(key, &at);

        for (unsigned j = 0; j < i; j++)
            certify(pem, key, j == 0 ? "key" : "authority");
        (void)BIO_read(pem, text[i], sizeof(text[i]) - 1);
        fake_vault_publish(FIRST_KEY + i, spki[i], (size_t)bytes, text[i]);
        BIO_free(pem);
        EVP_PKEY_free(key);
    }
}

/* ---- arguments ---- */

/* Memory of exactly this size, until the end of the step. */
static void *block(script *x, size_t size)
{
    void *made = malloc(size);

    assert_non_null(made);
    assert_true(x->block_count < BLOCKS);
    x->blocks[x->block_count++] = made;
    memset(made, (int)fuzz_byte(&x->in), size);
    return made;
}

static CK_ULONG length(script *x)
{
    static const CK_ULONG lengths[] = {0,  1,  4,   8,   20,  32,  35, 48,
                                       51, 64, 117, 127, 128, 129, 300};

    return lengths[fuzz_byte(&x->in) % (sizeof(lengths) / sizeof(lengths[0]))];
}

/* Bytes that a function reads; or NULL, with any length. */
static CK_BYTE *input(script *x, CK_ULONG *bytes)
{
    if (fuzz_byte(&x->in) > 240) {
        *bytes = fuzz_number(&x->in);
        return NULL;
    }
    *bytes = length(x);
    return block(x, *bytes);
}

/* Where a function writes: a buffer and its length, each of which may be
 * NULL. */
typedef struct output {
    CK_BYTE *buffer;
    CK_ULONG room, bytes;
    CK_ULONG *length;
} output;

static output *output_of(script *x)
{
    output *out = block(x, sizeof(*out));
    const uint32_t what = fuzz_byte(&x->in);

    out->room = out->bytes = what % 2 ? MODULUS_BYTES : length(x);
    out->buffer = what > 200 ? NULL : block(x, out->room);
    out->length = what > 250 ? NULL : &out->bytes;
    return out;
}

static void check_output(const output *out, CK_RV rv)
{
    if (out->length == NULL)
        assert_true(rv != CKR_OK);
    else if (rv == CKR_OK && out->buffer != NULL)
        assert_true(out->bytes <= out->room);
    else if (rv == CKR_BUFFER_TOO_SMALL)
        assert_true(out->bytes > out->room && out->buffer != NULL);
}

static CK_SESSION_HANDLE session(script *x)
{
    const uint32_t which = fuzz_byte(&x->in);

    return which > 240 ? fuzz_number(&x->in) : x->sessions[which % SESSIONS];
}

static CK_OBJECT_HANDLE object(script *x)
{
    const uint32_t which = fuzz_byte(&x->in);

    return which > 240 ? fuzz_number(&x->in) : x->objects[which % OBJECTS];
}

static const CK_MECHANISM_TYPE types[] = {
    CKM_RSA_PKCS,
    CKM_RSA_X_509,
    CKM_RSA_PKCS_PSS,
    CKM_RSA_PKCS_OAEP,
    CKM_SHA1_RSA_PKCS,
    CKM_SHA224_RSA_PKCS,
    CKM_SHA256_RSA_PKCS,
    CKM_SHA384_RSA_PKCS_PSS,
    CKM_SHA256_RSA_PKCS_PSS,
    CKM_SHA512_RSA_PKCS,
    CKM_SHA3_256_RSA_PKCS,
    CKM_SHA3_512_RSA_PKCS_PSS,
    CKM_SHA_1,
    CKM_SHA256,
    CKM_SHA512,
    CKM_SHA3_384,
    CKM_RSA_PKCS_KEY_PAIR_GEN,
    CKM_AES_CBC,
};

static CK_MECHANISM_TYPE mechanism_type(script *x)
{
    const uint32_t which = fuzz_byte(&x->in);

    return which > 240 ? fuzz_number(&x->in)
                       : types[which % (sizeof(types) / sizeof(types[0]))];
}

static CK_ULONG some_digest(script *x)
{
    static const CK_ULONG digests[] = {CKM_SHA_1,  CKM_SHA224, CKM_SHA256,
                                       CKM_SHA384, CKM_SHA512, CKM_SHA3_256};
    const uint32_t which = fuzz_byte(&x->in);

    return which > 240 ? fuzz_number(&x->in) : digests[which % 6];
}

/* Mostly the one of a mechanism's digest. */
static CK_ULONG some_mgf(script *x)
{
    const uint32_t which = fuzz_byte(&x->in);

    return which > 240 ? fuzz_number(&x->in) : 1 + which % 9;
}

static void set_parameter(script *x, CK_MECHANISM *mechanism)
{
    CK_RSA_PKCS_PSS_PARAMS *pss = NULL;
    CK_RSA_PKCS_OAEP_PARAMS *oaep = NULL;

    switch (fuzz_byte(&x->in) % 5) {
    case 0:
        break;
    case 1:
        pss = mechanism->pParameter = block(x, sizeof(*pss));
        mechanism->ulParameterLen = sizeof(*pss);
        pss->hashAlg = some_digest(x);
        pss->mgf = some_mgf(x);
        pss->sLen = fuzz_byte(&x->in) > 200 ? fuzz_number(&x->in) : length(x);
        break;
    case 2:
        oaep = mechanism->pParameter = block(x, sizeof(*oaep));
        mechanism->ulParameterLen = sizeof(*oaep);
        oaep->hashAlg = some_digest(x);
        oaep->mgf = some_mgf(x);
        oaep->source = fuzz_byte(&x->in) % 3;
        oaep->pSourceData = input(x, &oaep->ulSourceDataLen);
        break;
    default:
        mechanism->pParameter = input(x, &mechanism->ulParameterLen);
    }
}

static CK_MECHANISM *mechanism(script *x)
{
    CK_MECHANISM *made = NULL;

    if (fuzz_byte(&x->in) > 250)
        return NULL;
    made = block(x, sizeof(*made));
    *made = (CK_MECHANISM){.mechanism = mechanism_type(x)};
    set_parameter(x, made);
    return made;
}

static CK_ATTRIBUTE *template(script *x, CK_ULONG *count)
{
    static const CK_ATTRIBUTE_TYPE kinds[] = {CKA_CLASS,
                                              CKA_TOKEN,
                                              CKA_PRIVATE,
                                              CKA_LABEL,
                                              CKA_ID,
                                              CKA_VALUE,
                                              CKA_SUBJECT,
                                              CKA_ISSUER,
                                              CKA_MODULUS,
                                              CKA_MODULUS_BITS,
                                              CKA_KEY_TYPE,
                                              CKA_SIGN,
                                              CKA_DECRYPT,
                                              CKA_SENSITIVE,
                                              CKA_TRUSTED,
                                              CKA_PRIME_1,
                                              CKA_CERTIFICATE_TYPE,
                                              CKA_ALLOWED_MECHANISMS,
                                              CKA_SERIAL_NUMBER,
                                              CKA_PUBLIC_KEY_INFO,
                                              CKA_UNIQUE_ID,
                                              CKA_START_DATE,
                                              CKA_PRIVATE_EXPONENT,
                                              CKA_CHECK_VALUE};
    const uint32_t what = fuzz_byte(&x->in);
    CK_ATTRIBUTE *made = NULL;

    *count = what > 250 ? fuzz_number(&x->in) : what % 5;
    if (what > 250)
        return NULL;
    made = block(x, *count * sizeof(*made));
    for (CK_ULONG i = 0; i < *count; i++) {
        const uint32_t which = fuzz_byte(&x->in);

        made[i].type = which > 250
                           ? fuzz_number(&x->in)
                           : kinds[which % (sizeof(kinds) / sizeof(kinds[0]))];
        made[i].pValue = input(x, &made[i].ulValueLen);
        if (made[i].ulValueLen == sizeof(CK_ULONG) && made[i].pValue != NULL)
            memset((uint8_t *)made[i].pValue + 1, 0, sizeof(CK_ULONG) - 1);
    }
    return made;
}

/* ---- calls ---- */

static CK_RV no_notice(CK_SESSION_HANDLE handle, CK_NOTIFICATION event,
                       CK_VOID_PTR application)
{
    return CKR_OK;
}

static CK_RV no_mutex(void **mutex)
{
    return CKR_OK;
}

static CK_RV no_lock(void *mutex)
{
    return CKR_OK;
}

static void initialize(script *x)
{
    static const char *const texts[] = {"",
                                        "deadline_ms=100",
                                        " deadline_ms=0",
                                        "socket",
                                        "socket=/nowhere deadline_ms=1",
                                        "a=b c"};
    const uint32_t what = fuzz_byte(&x->in);
    CK_C_INITIALIZE_ARGS args = {.flags = what % 4};

    if (what > 200)
        args.flags = fuzz_number(&x->in);
    if (what % 8 >= 4)
        args.CreateMutex = no_mutex;
    if (what % 16 >= 8) {
        args.DestroyMutex = no_lock;
        args.LockMutex = no_lock;
        args.UnlockMutex = no_lock;
    }
    if (what % 32 >= 16)
        args.pReserved = (void *)
            texts[fuzz_byte(&x->in) % (sizeof(texts) / sizeof(texts[0]))];
    (void)C_Initialize(what < 100 ? NULL : &args);
}

static void open_session(script *x)
{
    const uint32_t what = fuzz_byte(&x->in);

    (void)C_OpenSession(what > 250 ? fuzz_number(&x->in) : 0,
                        what % 16 == 0 ? fuzz_number(&x->in)
                                       : CKF_SERIAL_SESSION,
                        NULL, what % 2 ? no_notice : NULL,
                        what % 32 == 1 ? NULL : &x->sessions[what % SESSIONS]);
}

static void about_slots(script *x)
{
    const CK_SLOT_ID slot = fuzz_byte(&x->in) > 240 ? fuzz_number(&x->in) : 0;
    CK_ULONG count = fuzz_byte(&x->in) % 100;
    void *many = block(x, count * sizeof(CK_ULONG));
    void *most = fuzz_byte(&x->in) > 200 ? NULL : many;
    CK_ULONG *counted = fuzz_byte(&x->in) > 250 ? NULL : &count;
    CK_MECHANISM_INFO info;
    CK_TOKEN_INFO token;
    CK_SLOT_INFO described;
    CK_INFO library;

    switch (fuzz_byte(&x->in) % 8) {
    case 0:
        (void)C_GetSlotList((CK_BBOOL)fuzz_byte(&x->in), most, counted);
        break;
    case 1:
        (void)C_GetMechanismList(slot, most, counted);
        break;
    case 2:
        (void)C_GetMechanismInfo(slot, mechanism_type(x),
                                 most == NULL ? NULL : &info);
        break;
    case 3:
        (void)C_GetTokenInfo(slot, most == NULL ? NULL : &token);
        break;
    case 4:
        (void)C_GetSlotInfo(slot, most == NULL ? NULL : &described);
        break;
    case 5:
        (void)C_GetInfo(most == NULL ? NULL : &library);
        break;
    case 6:
        (void)C_InitToken(slot, most, 0, NULL);
        break;
    default:
        (void)C_CloseAllSessions(slot);
    }
}

static void about_sessions(script *x)
{
    const CK_SESSION_HANDLE handle = session(x);
    CK_ULONG bytes = 0;
    CK_BYTE *data = input(x, &bytes);
    output *out = output_of(x);
    CK_SESSION_INFO info;

    switch (fuzz_byte(&x->in) % 12) {
    case 0:
        (void)C_CloseSession(handle);
        break;
    case 1:
        (void)C_GetSessionInfo(handle, data == NULL ? NULL : &info);
        break;
    case 2:
        (void)C_Login(handle, fuzz_byte(&x->in) % 4, data, bytes);
        break;
    case 3:
        (void)C_Logout(handle);
        break;
    case 4:
        check_output(out,
                     C_GetOperationState(handle, out->buffer, out->length));
        break;
    case 5:
        (void)C_SetOperationState(handle, data, bytes, object(x), object(x));
        break;
    case 6:
        (void)C_SessionCancel(handle, fuzz_number(&x->in));
        break;
    case 7:
        (void)C_SeedRandom(handle, data, bytes);
        break;
    case 8:
        (void)C_GenerateRandom(handle, out->buffer, out->room);
        break;
    case 9:
        (void)C_GetFunctionStatus(handle);
        (void)C_CancelFunction(handle);
        break;
    case 10:
        (void)C_InitPIN(handle, data, bytes);
        (void)C_SetPIN(handle, data, bytes, NULL, bytes);
        break;
    default:
        (void)C_LoginUser(handle, fuzz_byte(&x->in) % 4, data, bytes, NULL,
                          bytes);
    }
}

/* Finds objects, and keeps their handles. */
static void find(script *x)
{
    const CK_SESSION_HANDLE handle = session(x);
    const uint32_t what = fuzz_byte(&x->in);
    CK_ULONG count = 0, found = 0;
    CK_ATTRIBUTE *wanted = template(x, &count);

    if (what < 128)
        (void)C_FindObjectsInit(handle, NULL, 0);
    else
        (void)C_FindObjectsInit(handle, wanted, count);
    (void)C_FindObjects(handle, what % 16 == 0 ? NULL : x->objects,
                        what % OBJECTS, what % 32 == 1 ? NULL : &found);
    assert_true(found <= what % OBJECTS);
    if (what % 3)
        (void)C_FindObjectsFinal(handle);
}

static void about_objects(script *x)
{
    const CK_SESSION_HANDLE handle = session(x);
    CK_ULONG count = 0, size = 0;
    CK_ATTRIBUTE *values = template(x, &count);
    CK_OBJECT_HANDLE made = 0;

    switch (fuzz_byte(&x->in) % 8) {
    case 0:
        (void)C_SetAttributeValue(handle, object(x), values, count);
        break;
    case 1:
        (void)C_CreateObject(handle, values, count, &made);
        break;
    case 2:
        (void)C_CopyObject(handle, object(x), values, count, &made);
        break;
    case 3:
        (void)C_DestroyObject(handle, object(x));
        break;
    case 4:
        (void)C_GetObjectSize(handle, object(x), values == NULL ? NULL : &size);
        break;
    default:
        (void)C_GetAttributeValue(handle, object(x), values, count);
    }
}

static void begin_operation(script *x)
{
    static CK_RV (*const begin[])(CK_SESSION_HANDLE, CK_MECHANISM *,
                                  CK_OBJECT_HANDLE) = {
        C_SignInit,          C_SignRecoverInit,   C_VerifyInit,
        C_DecryptInit,       C_EncryptInit,       C_VerifyRecoverInit,
        C_MessageSignInit,   C_MessageVerifyInit, C_MessageEncryptInit,
        C_MessageDecryptInit};
    const CK_SESSION_HANDLE handle = session(x);
    const uint32_t which = fuzz_byte(&x->in);
    CK_MECHANISM *by = mechanism(x);

    if (which % 12 < 10)
        (void)begin[which % 12](handle, by, object(x));
    else
        (void)C_DigestInit(handle, by);
}

/* Functions with an input and an output. */
static void convert(script *x)
{
    static CK_RV (*const calls[])(CK_SESSION_HANDLE, CK_BYTE *, CK_ULONG,
                                  CK_BYTE *, CK_ULONG *) = {
        C_Sign,
        C_SignRecover,
        C_Decrypt,
        C_DecryptUpdate,
        C_Encrypt,
        C_EncryptUpdate,
        C_Digest,
        C_VerifyRecover,
        C_DigestEncryptUpdate,
        C_DecryptDigestUpdate,
        C_SignEncryptUpdate,
        C_DecryptVerifyUpdate,
    };
    const CK_SESSION_HANDLE handle = session(x);
    CK_ULONG bytes = 0;
    CK_BYTE *data = input(x, &bytes);
    output *out = output_of(x);

    check_output(out, calls[fuzz_byte(&x->in) % 12](handle, data, bytes,
                                                    out->buffer, out->length));
}

static void finish(script *x)
{
    static CK_RV (*const calls[])(CK_SESSION_HANDLE, CK_BYTE *, CK_ULONG *) = {
        C_SignFinal, C_DecryptFinal, C_EncryptFinal, C_DigestFinal};
    output *out = output_of(x);

    check_output(out, calls[fuzz_byte(&x->in) % 4](session(x), out->buffer,
                                                   out->length));
}

static void update(script *x)
{
    const CK_SESSION_HANDLE handle = session(x);
    CK_ULONG bytes = 0, more = 0;
    CK_BYTE *data = input(x, &bytes);
    CK_BYTE *signature = input(x, &more);

    switch (fuzz_byte(&x->in) % 6) {
    case 0:
        (void)C_SignUpdate(handle, data, bytes);
        break;
    case 1:
        (void)C_VerifyUpdate(handle, data, bytes);
        break;
    case 2:
        (void)C_DigestUpdate(handle, data, bytes);
        break;
    case 3:
        (void)C_Verify(handle, data, bytes, signature, more);
        break;
    case 4:
        (void)C_VerifyFinal(handle, signature, more);
        break;
    default:
        (void)C_DigestKey(handle, object(x));
    }
}

/* What a token of this kind refuses. */
static void refused(script *x)
{
    const CK_SESSION_HANDLE handle = session(x);
    CK_MECHANISM *by = mechanism(x);
    CK_OBJECT_HANDLE made = 0, other = 0;
    output *out = output_of(x);
    CK_RV rv = CKR_OK;

    switch (fuzz_byte(&x->in) % 5) {
    case 0:
        rv = C_GenerateKey(handle, by, NULL, 0, &made);
        break;
    case 1:
        rv = C_GenerateKeyPair(handle, by, NULL, 0, NULL, 0, &made, &other);
        break;
    case 2:
        rv = C_WrapKey(handle, by, object(x), object(x), out->buffer,
                       out->length);
        break;
    case 3:
        rv = C_UnwrapKey(handle, by, object(x), out->buffer, out->room, NULL, 0,
                         &made);
        break;
    default:
        rv = C_DeriveKey(handle, by, object(x), NULL, 0, &made);
    }
    assert_true(rv != CKR_OK);
}

static void step(script *x)
{
    static void (*const steps[])(script *) = {
        begin_operation, convert,         find,        convert,
        update,          begin_operation, finish,      about_objects,
        about_sessions,  open_session,    about_slots, convert,
        refused,         about_objects,   initialize,  begin_operation};
    const uint32_t what = fuzz_byte(&x->in);

    if (what == 255)
        (void)C_Finalize(what % 2 ? NULL : x);
    else
        steps[what % (sizeof(steps) / sizeof(steps[0]))](x);
    while (x->block_count > 0)
        free(x->blocks[--x->block_count]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool filled;
    script x = {.in = {data, data + size}};
    CK_ULONG found = 0;

    if (!filled) {
        assert_int_equal(setenv("WARPRSA_SOCKET", fuzz_daemon()->path, 1), 0);
        fill_vault();
        filled = true;
    }
    /* Mostly there is a session, and objects are known. */
    if (fuzz_byte(&x.in) < 250) {
        assert_int_equal(C_Initialize(NULL), CKR_OK);
        assert_int_equal(
            C_OpenSession(0, CKF_SERIAL_SESSION, NULL, NULL, &x.sessions[0]),
            CKR_OK);
        if (C_FindObjectsInit(x.sessions[0], NULL, 0) == CKR_OK) {
            (void)C_FindObjects(x.sessions[0], x.objects, OBJECTS, &found);
            assert_int_equal(C_FindObjectsFinal(x.sessions[0]), CKR_OK);
            assert_true(found == 3 + 3 + 1 + 2 || found == 3 + 3 + 1 + 1);
        }
    }
    for (int i = 0; i < STEPS && x.in.at < x.in.end; i++)
        step(&x);
    (void)C_Finalize(NULL);
    assert_int_equal(C_Finalize(NULL), CKR_CRYPTOKI_NOT_INITIALIZED);
    fuzz_daemon_check();
    return 0;
}
