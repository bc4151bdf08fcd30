/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The provider's entry: OSSL_provider_init and what the core calls.
 */
#include <openssl/core_dispatch.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/provider.h>

#include "batching/base/cancellation.h"
#include "batching/base/container_of.h"
#include "batching/queue/engines.h"
#include "provider/context.h"
#include "provider/decoder.h"
#include "provider/dispatch.h"
#include "provider/errors.h"
#include "provider/instance.h"
#include "provider/left_out.h"
#include "provider/libcrypto.h"
#include "provider/library_context.h"
#include "provider/self_test.h"
#include "provider/status.h"
#include "provider/store.h"
#include "provider/vault_client.h"

static const OSSL_ALGORITHM *query(void *provctx, int operation, int *no_cache)
{
    const warprsa_context *context = provctx;

    *no_cache = 0;
    switch (operation) {
    case OSSL_OP_KEYMGMT:
        return context->algorithms.keymgmt;
    case OSSL_OP_SIGNATURE:
        return context->algorithms.signature;
    case OSSL_OP_ASYM_CIPHER:
        /* A caller with another libcrypto pads and unpads by its own. From 3.2
         * on libcrypto hides whether PKCS #1 v1.5 padding was right. If ours is
         * older, its answers would be a padding oracle. */
        return context->same_libcrypto ? context->algorithms.asym_cipher : NULL;
    case OSSL_OP_ENCODER:
        return context->same_libcrypto ? context->algorithms.encoder : NULL;
    case OSSL_OP_DECODER:
        return context->left_out ? NULL : warprsa_decoders;
    case OSSL_OP_STORE:
        return context->left_out ? NULL : warprsa_stores;
    }
    return NULL;
}

static void at_exit(warprsa_exit_link *link)
{
    warprsa_context *context =
        WARPRSA_CONTAINER_OF(link, warprsa_context, exit_link);
    int cancellation = warprsa_cancellation_off();

    warprsa_instance_close(context);
    warprsa_cancellation_restore(cancellation);
}

/* Frees a context, which may be only half set up; also after our libcrypto has
 * been cleaned up. */
static void free_context(warprsa_context *context)
{
    warprsa_vault_clients_free(context);
    if (!warprsa_instance_free(context)) {
        warprsa_trace_printf(
            &context->trace, 1,
            "a device or a caller hangs: the provider's memory is not freed");
        warprsa_exit_remove(&context->exit_link);
        return;
    }
    if (context->loaded)
        warprsa_trace_printf(&context->trace, 1, "provider unloaded");
    warprsa_control_connection_close(&context->control_connection);
    warprsa_trace_close(&context->trace);
    warprsa_exit_remove(&context->exit_link);
    warprsa_dispatch_free(context);
    OPENSSL_free(context);
}

static void teardown(void *provctx)
{
    int cancellation = warprsa_cancellation_off();

    free_context(provctx);
    warprsa_cancellation_restore(cancellation);
}

static bool load_default(warprsa_context *context)
{
    warprsa_library_context own;

    if (!warprsa_library_context_get(&own)) {
        warprsa_raise(&context->core, WARPRSA_R_DEFAULT_PROVIDER,
                      "the default provider cannot be loaded");
        return false;
    }
    context->libctx = own.libctx;
    context->wrapped = own.provider;
    context->wrapped_provctx =
        OSSL_PROVIDER_get0_provider_ctx(context->wrapped);
    return true;
}

/* Connects to the daemon at load, because many programs fork, chroot and drop
 * their rights afterwards, and might then not reach the socket. While there is
 * no daemon, operations run on the CPU, and the client tries again to
 * connect. */
static void open_control_connection(warprsa_context *context)
{
    char why[400];

    if (context->config.mode == WARPRSA_MODE_DAEMON &&
        !warprsa_control_connection_open(&context->control_connection,
                                         context->config.socket, why,
                                         sizeof(why)))
        warprsa_trace_printf(&context->trace, 1, "%s", why);
}

/* At load programs have one thread; at their first operation they may have
 * many. */
static void prepare_engines(const warprsa_context *context)
{
    const warprsa_config *config = &context->config;

    if (config->mode == WARPRSA_MODE_PROCESS &&
        config->route != WARPRSA_ROUTE_CPU)
        warprsa_engines_prepare((warprsa_engine_choice)config->engine,
                                config->streams);
}

static const OSSL_DISPATCH dispatch[] = {
    {OSSL_FUNC_PROVIDER_TEARDOWN, (void (*)(void))teardown},
    {OSSL_FUNC_PROVIDER_GETTABLE_PARAMS,
     (void (*)(void))warprsa_status_gettable},
    {OSSL_FUNC_PROVIDER_GET_PARAMS, (void (*)(void))warprsa_status_get},
    {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query},
    {0, NULL},
};

/* Refuses to load, without a call to libcrypto: it isn't known which one would
 * be called. */
static void refuse(warprsa_core *core, const char *why)
{
    warprsa_trace trace;

    core->trace = &trace;
    warprsa_config_open_trace(core);
    warprsa_raise(core, WARPRSA_R_LIBCRYPTO, "%s", why);
    warprsa_trace_close(&trace);
}

/* Makes a context. NULL: no memory. */
static warprsa_context *context_new(const warprsa_core *core, bool same)
{
    warprsa_context *context = NULL;

    /* libcrypto has to register its exit() handler before ours, which then runs
     * first. Any option has it do so; this one reads no file. */
    if (OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CRYPTO_STRINGS, NULL) &&
        warprsa_fork_init())
        context = OPENSSL_zalloc(sizeof(*context));
    if (context == NULL) {
        warprsa_raise(core, WARPRSA_R_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    context->core = *core;
    context->core.trace = &context->trace;
    context->same_libcrypto = same;
    context->trace = WARPRSA_NO_TRACE;
    context->control_connection.socket = WARPRSA_NO_FD;
    context->exit_link.at_exit = at_exit;
    return context;
}

/* Sets up the tables of algorithms. In a program that is left out they stay
 * empty. */
static bool set_up_algorithms(warprsa_context *context)
{
    const char *by = warprsa_left_out(&context->config);

    context->left_out = by != NULL;
    if (context->left_out)
        warprsa_trace_printf(&context->trace, 1,
                             "this program is left out, by %s", by);
    return context->left_out ||
           (load_default(context) && warprsa_dispatch_init(context) &&
            warprsa_self_test(context));
}

static bool set_up(warprsa_context *context)
{
    warprsa_errors before = warprsa_errors_begin(context);
    bool ok = warprsa_config_read(&context->config, &context->core) &&
              set_up_algorithms(context);

    warprsa_errors_end(context, before, ok);
    return ok;
}

/* Starts no thread and opens no device, because programs fork afterwards. */
static int load(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in,
                const OSSL_DISPATCH **out, void **provctx)
{
    warprsa_context *context = NULL;
    warprsa_core core;
    bool same = false;
    char why[1000];

    if (!warprsa_core_init(&core, handle, in))
        return 0;
    if (!warprsa_libcrypto_check(&core, &same, why, sizeof(why))) {
        refuse(&core, why);
        return 0;
    }
    context = context_new(&core, same);
    if (context == NULL)
        return 0;
    if (!set_up(context)) {
        free_context(context);
        return 0;
    }
    if (!context->left_out) {
        prepare_engines(context);
        open_control_connection(context);
    }
    warprsa_exit_add(&context->exit_link);
    context->loaded = true;
    warprsa_trace_printf(&context->trace, 1, "provider loaded%s",
                         same ? "" : "; the caller has another libcrypto");
    *provctx = context;
    *out = dispatch;
    return 1;
}

OSSL_provider_init_fn OSSL_provider_init;
int OSSL_provider_init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in,
                       const OSSL_DISPATCH **out, void **provctx)
{
    int cancellation = warprsa_cancellation_off();
    int ok = load(handle, in, out, provctx);

    warprsa_cancellation_restore(cancellation);
    return ok;
}
