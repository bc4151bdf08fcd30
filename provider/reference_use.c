/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Asking warprsad; see reference_use.h.
 */
#include "provider/reference_use.h"

#include <string.h>
#include <time.h>

#include <openssl/crypto.h>

#include "batching/base/cancellation.h"
#include "batching/base/clock.h"
#include "batching/daemon/client/key_lookup.h"
#include "provider/jobs_left.h"
#include "provider/use_wait.h"
#include "provider/vault_client.h"

enum {
    WHY_SIZE = 500,
    AGAIN_MS = 20, /* until a daemon that was away is asked again */
};

/* ---- uses ---- */

/* The client's key for a reference, made at its first use in a process. NULL:
 * no memory. */
static warprsa_backend_key *
key_of(warprsa_rsa *ours, warprsa_instance *instance, warprsa_client *client)
{
    const warprsa_key_reference *reference = ours->reference;
    warprsa_backend_key *key = warprsa_rsa_held_key(ours, instance);

    if (key != NULL)
        return key;
    key = warprsa_client_vault_key(client, reference->spki_sha256,
                                   reference->modulus_bytes);
    return key == NULL ? NULL
                       : warprsa_rsa_hold_key(ours, instance,
                                              &warprsa_backend_daemon, key);
}

/* A use under way in this process. */
typedef struct asking {
    warprsa_instance *instance;
    warprsa_client *client;
    warprsa_client_use use;
} asking;

/* False: no memory. */
static bool begin(asking *a, warprsa_rsa *ours, const warprsa_key_use *use,
                  const uint8_t *input)
{
    warprsa_backend_key *key = NULL;

    a->instance = warprsa_instance_get(ours->context);
    if (a->instance == NULL)
        return false;
    warprsa_jobs_left_count(a->instance->counters);
    a->client = warprsa_vault_client(ours->context, a->instance,
                                     ours->reference->socket);
    if (a->client != NULL)
        key = key_of(ours, a->instance, a->client);
    if (key == NULL)
        return false;
    warprsa_client_use_begin(a->client, &a->use, key, use, input);
    return true;
}

/* Goes on with a use, with a new notifier before it is submitted. */
static warprsa_use_answer go_on(asking *a, warprsa_use_wait *wait,
                                uint8_t *output)
{
    uint32_t notifier = 0;

    if (!a->use.is_submitted)
        notifier = warprsa_use_wait_notifier(wait, a->client);
    return warprsa_client_use_go_on(a->client, &a->use, notifier, output);
}

/* Waits in a job, which pauses. PENDING: the process has forked meanwhile, and
 * the use is its parent's. */
static warprsa_use_answer pause_for(asking *a, warprsa_use_wait *wait,
                                    uint8_t *output, int *cancellation)
{
    warprsa_use_answer answer = go_on(a, wait, output);

    while (answer == WARPRSA_USE_PENDING) {
        warprsa_cancellation_restore(*cancellation);
        warprsa_use_wait_pause(wait, a->client, &a->use);
        *cancellation = warprsa_cancellation_off();
        if (!warprsa_instance_is_mine(a->instance))
            break;
        answer = go_on(a, wait, output);
    }
    warprsa_use_wait_end(wait);
    return answer;
}

/* Asks until there is an answer. False: no memory. */
static bool ask(asking *a, warprsa_rsa *ours, const warprsa_key_use *use,
                const uint8_t *input, uint8_t *output,
                warprsa_use_answer *answer)
{
    int cancellation = warprsa_cancellation_off();
    bool begun = false;

    do {
        warprsa_use_wait *wait = NULL;

        begun = begin(a, ours, use, input);
        if (!begun)
            break;
        wait = warprsa_use_wait_new();
        *answer = wait != NULL
                      ? pause_for(a, wait, output, &cancellation)
                      : warprsa_client_use_wait(a->client, &a->use, output);
    } while (*answer == WARPRSA_USE_PENDING);
    warprsa_cancellation_restore(cancellation);
    return begun;
}

/* Raises what libcrypto has raised in the vault. False: nothing. */
static bool raise_libcryptos(const warprsa_context *context,
                             const warprsa_use_errors *errors)
{
    unsigned raised = 0;

    while (raised < WARPRSA_USE_ERRORS_MAX && errors->codes[raised] != 0)
        warprsa_core_raise_code(&context->core, errors->codes[raised++],
                                OPENSSL_FILE, OPENSSL_LINE, OPENSSL_FUNC, "");
    return raised > 0;
}

static void raise_answer(const warprsa_rsa *ours, const asking *a,
                         warprsa_use_answer answer)
{
    char why[WHY_SIZE];

    if (answer == WARPRSA_USE_FAILED &&
        raise_libcryptos(ours->context, &a->use.errors))
        return;
    warprsa_client_use_why(a->client, &a->use, answer, why, sizeof(why));
    warprsa_raise(&ours->context->core, WARPRSA_R_DAEMON, "key %s: %s",
                  ours->reference->name, why);
}

int warprsa_reference_use(warprsa_rsa *ours, const warprsa_key_use *use,
                          const uint8_t *input, uint8_t *output)
{
    warprsa_use_answer answer = WARPRSA_USE_FAILED;
    asking a;

    if (!ask(&a, ours, use, input, output, &answer)) {
        warprsa_raise(&ours->context->core, WARPRSA_R_OUT_OF_MEMORY,
                      "key %s: out of memory", ours->reference->name);
        return -1;
    }
    if (answer == WARPRSA_USE_DONE)
        return (int)a.use.bytes;
    raise_answer(ours, &a, answer);
    return -1;
}

/* ---- names ---- */

static warprsa_key_found look_up(const char *socket, const char *name,
                                 uint64_t until_ns, warprsa_key_message *key,
                                 char why[WHY_SIZE])
{
    warprsa_key_found found = WARPRSA_KEY_UNKNOWN;
    warprsa_key_lookup lookup;

    if (warprsa_key_lookup_open(&lookup, socket, until_ns, why, WHY_SIZE))
        found = warprsa_key_lookup_name(&lookup, name, key, why, WHY_SIZE);
    warprsa_key_lookup_close(&lookup);
    return found;
}

/* Waits for a daemon that is away, until the deadline. */
static warprsa_key_found look_up_until(const warprsa_context *context,
                                       const char *socket, const char *name,
                                       warprsa_key_message *key,
                                       char why[WHY_SIZE])
{
    static const struct timespec nap = {0, AGAIN_MS * WARPRSA_NS_PER_MS};
    const uint64_t until_ns =
        warprsa_clock_ns() + context->config.deadline_ms * WARPRSA_NS_PER_MS;
    warprsa_key_found found;

    while ((found = look_up(socket, name, until_ns, key, why)) ==
               WARPRSA_KEY_UNKNOWN &&
           warprsa_clock_ns() < until_ns)
        nanosleep(&nap, NULL);
    return found;
}

static bool fill(warprsa_reference *out, const char *socket,
                 const warprsa_key_message *key)
{
    memset(out, 0, sizeof(*out));
    if (key->spki_bytes > sizeof(out->spki))
        return false;
    memcpy(out->name, key->name, sizeof(out->name));
    strncpy(out->socket, socket, sizeof(out->socket) - 1);
    memcpy(out->spki, key->spki, key->spki_bytes);
    out->spki_bytes = key->spki_bytes;
    return true;
}

bool warprsa_reference_lookup(warprsa_context *context, const char *socket,
                              const char *name, warprsa_reference *out)
{
    warprsa_key_message *key = OPENSSL_malloc(sizeof(*key));
    char why[WHY_SIZE] = "out of memory";
    warprsa_key_found found = WARPRSA_KEY_UNKNOWN;
    int cancellation;

    if (key != NULL) {
        cancellation = warprsa_cancellation_off();
        found = look_up_until(context, socket, name, key, why);
        warprsa_cancellation_restore(cancellation);
    }
    if (found == WARPRSA_KEY_FOUND && !fill(out, socket, key))
        found = WARPRSA_KEY_UNKNOWN;
    OPENSSL_free(key);
    if (found == WARPRSA_KEY_NOT_FOUND)
        warprsa_raise(&context->core, WARPRSA_R_DAEMON,
                      "key %s: warprsad at %s has no such key for this user",
                      name, socket);
    else if (found == WARPRSA_KEY_UNKNOWN)
        warprsa_raise(&context->core, WARPRSA_R_DAEMON, "key %s: %s", name,
                      why);
    return found == WARPRSA_KEY_FOUND;
}
