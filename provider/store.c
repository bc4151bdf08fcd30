/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The loader of the store. It hands libcrypto a reference in DER, of which our
 * decoder makes the key.
 */
#include "provider/store.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/core_object.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <openssl/store.h>

#include "provider/decoder.h"
#include "provider/function_table.h"
#include "provider/reference_use.h"

static const char scheme[] = "warprsa:";
static const char socket_query[] = "?socket=";

/* A URI that has been opened. */
typedef struct opened {
    warprsa_context *context;
    char name[WARPRSA_KEY_NAME_SIZE];
    char socket[WARPRSA_REFERENCE_SOCKET_SIZE];
    bool explicit_socket; /* the reference has it, too */
    bool done;            /* the one key has been loaded, or could not be */
    bool unwanted;        /* something else is expected than a private key */
} opened;

/* Reads the text of a URI after its scheme. False: it is none of ours. */
static bool parse(opened *store, const char *rest)
{
    const size_t length = strcspn(rest, "?");
    const char *socket = store->context->config.socket;

    if (!warprsa_key_name_is_valid(rest, length))
        return false;
    memcpy(store->name, rest, length);
    if (rest[length] != '\0') {
        if (strncmp(rest + length, socket_query, sizeof(socket_query) - 1) != 0)
            return false;
        socket = rest + length + sizeof(socket_query) - 1;
        store->explicit_socket = true;
        if (socket[0] != '/')
            return false;
    }
    return snprintf(store->socket, sizeof(store->socket), "%s", socket) <
           (int)sizeof(store->socket);
}

static void *open_uri(void *provctx, const char *uri)
{
    warprsa_context *context = provctx;
    opened *store = NULL;

    if (strncasecmp(uri, scheme, sizeof(scheme) - 1) != 0)
        return NULL;
    store = OPENSSL_zalloc(sizeof(*store));
    if (store == NULL)
        return NULL;
    store->context = context;
    if (parse(store, uri + sizeof(scheme) - 1))
        return store;
    OPENSSL_free(store);
    warprsa_raise(&context->core, WARPRSA_R_REFERENCE,
                  "%.300s: expected warprsa:NAME or warprsa:NAME?socket=PATH "
                  "with " WARPRSA_KEY_NAME_ALLOWED " and a path from the root",
                  uri);
    return NULL;
}

/* What loading needs beside a stack of ordinary size. */
typedef struct workspace {
    warprsa_reference reference;
    uint8_t der[WARPRSA_REFERENCE_DER_MAX];
} workspace;

static int give_der(workspace *work, size_t size, OSSL_CALLBACK *callback,
                    void *arg)
{
    int type = OSSL_OBJECT_PKEY;
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_int(OSSL_OBJECT_PARAM_TYPE, &type),
        OSSL_PARAM_construct_utf8_string(OSSL_OBJECT_PARAM_DATA_STRUCTURE,
                                         (char *)WARPRSA_REFERENCE_STRUCTURE,
                                         0),
        OSSL_PARAM_construct_octet_string(OSSL_OBJECT_PARAM_DATA, work->der,
                                          size),
        OSSL_PARAM_construct_end(),
    };

    return callback(params, arg);
}

static int load_into(const opened *store, workspace *work,
                     OSSL_CALLBACK *callback, void *arg)
{
    size_t size = 0;

    if (!warprsa_reference_lookup(store->context, store->socket, store->name,
                                  &work->reference))
        return 0;
    /* Without a socket of its own, a key moves with the configuration. */
    snprintf(work->reference.socket, sizeof(work->reference.socket), "%s",
             store->explicit_socket ? store->socket : "");
    size =
        warprsa_reference_write(&work->reference, work->der, sizeof(work->der));
    if (size > 0)
        return give_der(work, size, callback, arg);
    warprsa_raise(&store->context->core, WARPRSA_R_REFERENCE,
                  "key %s: warprsad at %s has sent no reference", store->name,
                  store->socket);
    return 0;
}

static int load(void *ctx, OSSL_CALLBACK *callback, void *arg,
                OSSL_PASSPHRASE_CALLBACK *passphrase, void *passphrase_arg)
{
    opened *store = ctx;
    workspace *work = NULL;
    int ok = 0;

    (void)passphrase, (void)passphrase_arg;
    if (store->done || store->unwanted)
        return 0;
    store->done = true;
    work = OPENSSL_malloc(sizeof(*work));
    ok = work != NULL && load_into(store, work, callback, arg);
    OPENSSL_free(work);
    return ok;
}

static int at_end(void *ctx)
{
    const opened *store = ctx;

    return store->done || store->unwanted;
}

static int close_uri(void *ctx)
{
    OPENSSL_free(ctx);
    return 1;
}

/* What libcrypto tells each loader. It would drop a private key itself where
 * something else is expected, but that would have been asked for in vain. */
static const OSSL_PARAM *settable(void *provctx)
{
    static const OSSL_PARAM list[] = {
        OSSL_PARAM_int(OSSL_STORE_PARAM_EXPECT, NULL),
        OSSL_PARAM_utf8_string(OSSL_STORE_PARAM_PROPERTIES, NULL, 0),
        OSSL_PARAM_END,
    };

    (void)provctx;
    return list;
}

static int set_params(void *ctx, const OSSL_PARAM params[])
{
    opened *store = ctx;
    const OSSL_PARAM *param =
        OSSL_PARAM_locate_const(params, OSSL_STORE_PARAM_EXPECT);
    int expected = 0;

    if (param == NULL)
        return 1;
    if (!OSSL_PARAM_get_int(param, &expected))
        return 0;
    store->unwanted = expected != 0 && expected != OSSL_STORE_INFO_PKEY;
    return 1;
}

static const OSSL_DISPATCH functions[] = {
    {OSSL_FUNC_STORE_OPEN, WARPRSA_FUNCTION(open_uri)},
    {OSSL_FUNC_STORE_SETTABLE_CTX_PARAMS, WARPRSA_FUNCTION(settable)},
    {OSSL_FUNC_STORE_SET_CTX_PARAMS, WARPRSA_FUNCTION(set_params)},
    {OSSL_FUNC_STORE_LOAD, WARPRSA_FUNCTION(load)},
    {OSSL_FUNC_STORE_EOF, WARPRSA_FUNCTION(at_end)},
    {OSSL_FUNC_STORE_CLOSE, WARPRSA_FUNCTION(close_uri)},
    {0, NULL},
};

const OSSL_ALGORITHM warprsa_stores[] = {
    {"warprsa", "provider=warprsa", functions, NULL},
    {NULL, NULL, NULL, NULL},
};
