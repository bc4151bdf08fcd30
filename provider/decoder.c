/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The decoders. libcrypto lets each of its decoders look at an input, from the
 * same place, until one has made something of it. So a decoder that finds
 * something else than a reference succeeds without a result and raises no
 * error.
 */
#include "provider/decoder.h"

#include <string.h>

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/core_object.h>
#include <openssl/crypto.h>
#include <openssl/params.h>

#include "batching/vault/wire/reference.h"
#include "provider/function_table.h"
#include "provider/keymgmt.h"

enum {
    NOTHING_FOUND = 1,
    LINE_SIZE = 256, /* of PEM; a longer line is read in parts */
};

/* The provider context is all that a decoder needs. */
static void *newctx(void *provctx)
{
    return provctx;
}

static void freectx(void *ctx)
{
    (void)ctx;
}

/* ---- PEM ---- */

static bool starts_with(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* Reads on to the next line that begins with BEGIN. False: there is none, or it
 * has another label. */
static bool find_begin(const warprsa_core *core, OSSL_CORE_BIO *in,
                       char line[LINE_SIZE])
{
    while (core->bio_gets(in, line, LINE_SIZE) > 0)
        if (starts_with(line, "-----BEGIN "))
            return starts_with(line,
                               "-----BEGIN " WARPRSA_REFERENCE_LABEL "-----");
    return false;
}

/* Reads a reference from its first line to its last into `text`. Returns how
 * long it is; 0: there is none. One that is too long is cut, so that it has no
 * last line. */
static size_t read_text(const warprsa_core *core, OSSL_CORE_BIO *in,
                        char text[WARPRSA_REFERENCE_PEM_MAX])
{
    char line[LINE_SIZE];
    size_t length = 0;

    if (!find_begin(core, in, line))
        return 0;
    do {
        const size_t more = strlen(line);

        if (more > WARPRSA_REFERENCE_PEM_MAX - length)
            break;
        memcpy(text + length, line, more);
        length += more;
    } while (!starts_with(line, "-----END ") &&
             core->bio_gets(in, line, LINE_SIZE) > 0);
    return length;
}

/* What decoding needs beside a stack of ordinary size. */
typedef struct workspace {
    warprsa_reference reference;
    char text[WARPRSA_REFERENCE_PEM_MAX];
    uint8_t der[WARPRSA_REFERENCE_DER_MAX + 1];
} workspace;

static int give_der(const workspace *work, size_t size, OSSL_CALLBACK *callback,
                    void *arg)
{
    int type = OSSL_OBJECT_PKEY;
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_int(OSSL_OBJECT_PARAM_TYPE, &type),
        OSSL_PARAM_construct_utf8_string(OSSL_OBJECT_PARAM_DATA_STRUCTURE,
                                         (char *)WARPRSA_REFERENCE_STRUCTURE,
                                         0),
        OSSL_PARAM_construct_octet_string(OSSL_OBJECT_PARAM_DATA,
                                          (void *)work->der, size),
        OSSL_PARAM_construct_end(),
    };

    return callback(params, arg);
}

static int pem_to_der(const warprsa_core *core, workspace *work,
                      OSSL_CORE_BIO *in, OSSL_CALLBACK *callback, void *arg)
{
    const size_t length = read_text(core, in, work->text);
    const char *wrong = NULL;

    if (length == 0)
        return NOTHING_FOUND;
    wrong = warprsa_reference_read_pem(&work->reference, work->text, length);
    if (wrong != NULL) {
        warprsa_raise(core, WARPRSA_R_REFERENCE, "key reference: %s", wrong);
        return 0;
    }
    return give_der(
        work,
        warprsa_reference_write(&work->reference, work->der, sizeof(work->der)),
        callback, arg);
}

static int decode_pem(void *ctx, OSSL_CORE_BIO *in, int selection,
                      OSSL_CALLBACK *callback, void *arg,
                      OSSL_PASSPHRASE_CALLBACK *passphrase,
                      void *passphrase_arg)
{
    const warprsa_context *context = ctx;
    workspace *work = NULL;
    int result = 0;

    (void)selection, (void)passphrase, (void)passphrase_arg;
    if (context->core.bio_gets == NULL)
        return NOTHING_FOUND;
    work = OPENSSL_malloc(sizeof(*work));
    if (work == NULL)
        return 0;
    result = pem_to_der(&context->core, work, in, callback, arg);
    OPENSSL_free(work);
    return result;
}

/* ---- DER ---- */

/* Reads all there is, at most one byte more than a reference can have. */
static size_t read_der(const warprsa_core *core, OSSL_CORE_BIO *in,
                       uint8_t der[WARPRSA_REFERENCE_DER_MAX + 1])
{
    size_t length = 0, more = 0;

    while (length <= WARPRSA_REFERENCE_DER_MAX &&
           core->bio_read(in, der + length,
                          WARPRSA_REFERENCE_DER_MAX + 1 - length, &more) &&
           more > 0)
        length += more;
    return length;
}

static int give_key(void *key, const char *type, OSSL_CALLBACK *callback,
                    void *arg)
{
    int object = OSSL_OBJECT_PKEY;
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_int(OSSL_OBJECT_PARAM_TYPE, &object),
        OSSL_PARAM_construct_utf8_string(OSSL_OBJECT_PARAM_DATA_TYPE,
                                         (char *)type, 0),
        OSSL_PARAM_construct_octet_string(OSSL_OBJECT_PARAM_REFERENCE, &key,
                                          sizeof(key)),
        OSSL_PARAM_construct_end(),
    };
    const int result = callback(params, arg);

    warprsa_keymgmt_free_reference(key); /* NULL once it has been taken over */
    return result;
}

static int decode_der(void *ctx, OSSL_CORE_BIO *in, int selection,
                      OSSL_CALLBACK *callback, void *arg,
                      OSSL_PASSPHRASE_CALLBACK *passphrase,
                      void *passphrase_arg)
{
    warprsa_context *context = ctx;
    workspace *work = NULL;
    const char *type = NULL;
    void *key = NULL;
    int result = NOTHING_FOUND;

    (void)selection, (void)passphrase, (void)passphrase_arg;
    if (context->core.bio_read == NULL)
        return NOTHING_FOUND;
    work = OPENSSL_malloc(sizeof(*work));
    if (work == NULL)
        return 0;
    if (warprsa_reference_read(&work->reference, work->der,
                               read_der(&context->core, in, work->der)) == NULL)
        result = warprsa_keymgmt_make_reference(context, &work->reference, &key,
                                                &type);
    OPENSSL_free(work);
    return key == NULL ? result : give_key(key, type, callback, arg);
}

static int export_object(void *ctx, const void *address, size_t size,
                         OSSL_CALLBACK *callback, void *arg)
{
    (void)ctx;
    return size == sizeof(void *) &&
           warprsa_keymgmt_export(*(void *const *)address,
                                  OSSL_KEYMGMT_SELECT_ALL, callback, arg);
}

#define TABLE(decode)                                                          \
    {                                                                          \
        {OSSL_FUNC_DECODER_NEWCTX, WARPRSA_FUNCTION(newctx)},                  \
            {OSSL_FUNC_DECODER_FREECTX, WARPRSA_FUNCTION(freectx)},            \
            {OSSL_FUNC_DECODER_DECODE, WARPRSA_FUNCTION(decode)},              \
            {OSSL_FUNC_DECODER_EXPORT_OBJECT,                                  \
             WARPRSA_FUNCTION(export_object)},                                 \
        {                                                                      \
            0, NULL                                                            \
        }                                                                      \
    }
static const OSSL_DISPATCH of_pem[] = TABLE(decode_pem);
static const OSSL_DISPATCH of_der[] = TABLE(decode_der);

const OSSL_ALGORITHM warprsa_decoders[] = {
    {"DER", "provider=warprsa,input=pem", of_pem, NULL},
    /* Makes keys of RSA-PSS, too. Each decoder costs every program some time
     * for each key that it loads, of whatever kind. */
    {"RSA", "provider=warprsa,input=der,structure=" WARPRSA_REFERENCE_STRUCTURE,
     of_der, NULL},
    {NULL, NULL, NULL, NULL},
};
