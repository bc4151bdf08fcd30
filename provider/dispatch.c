/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Going through the default provider's algorithms.
 */
#include "provider/dispatch.h"

#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/provider.h>

#include "provider/asym_cipher.h"
#include "provider/encoder.h"
#include "provider/keymgmt.h"
#include "provider/signature.h"

/* Whether an algorithm is RSA, RSA-PSS, or an RSA signature with a digest, as
 * RSA-SHA2-256 in 3.4. */
static bool is_rsa(const OSSL_ALGORITHM *algorithm)
{
    const char *names = algorithm->algorithm_names;

    return strncmp(names, "RSA", 3) == 0 &&
           (names[3] == '\0' || names[3] == ':' || names[3] == '-');
}

typedef OSSL_DISPATCH *wrap_fn(warprsa_algorithms *algorithms, unsigned index,
                               const OSSL_DISPATCH *table);

/*
 * Wraps the RSA algorithms of an operation, `max` at most, under `property`, or
 * their own if that is NULL. They keep the default provider's names, by which
 * libcrypto finds our algorithm for a key of the default provider.
 */
static OSSL_ALGORITHM *take_over(warprsa_context *context, int operation,
                                 const char *property, unsigned max,
                                 wrap_fn *wrap)
{
    int no_cache = 0;
    const OSSL_ALGORITHM *all =
        OSSL_PROVIDER_query_operation(context->wrapped, operation, &no_cache);
    OSSL_ALGORITHM *taken = OPENSSL_zalloc((max + 1) * sizeof(*taken));
    unsigned count = 0;

    if (taken == NULL)
        return NULL;
    for (; all != NULL && all->algorithm_names != NULL && count < max; all++) {
        if (!is_rsa(all))
            continue;
        taken[count] = *all;
        if (property != NULL)
            taken[count].property_definition = property;
        taken[count].implementation =
            wrap(&context->algorithms, count, all->implementation);
        if (taken[count++].implementation == NULL)
            break;
    }
    return taken;
}

static bool complete(const OSSL_ALGORITHM *taken)
{
    bool ok = taken != NULL && taken->algorithm_names != NULL;

    for (; ok && taken->algorithm_names != NULL; taken++)
        ok = taken->implementation != NULL;
    return ok;
}

/* Gives each encoder the default provider's properties from "output" on, which
 * every encoder has. False: one has no such properties, or they are too long.
 */
static bool set_encoder_properties(warprsa_algorithms *algorithms)
{
    OSSL_ALGORITHM *at = algorithms->encoder;

    for (unsigned i = 0; at[i].algorithm_names != NULL; i++) {
        const char *output = strstr(at[i].property_definition, "output=");
        char *ours = algorithms->encoder_properties[i];

        if (output == NULL ||
            snprintf(ours, WARPRSA_PROPERTIES_SIZE, "provider=warprsa,%s",
                     output) >= WARPRSA_PROPERTIES_SIZE)
            return false;
        at[i].property_definition = ours;
    }
    return true;
}

static void free_table(OSSL_ALGORITHM *table)
{
    for (OSSL_ALGORITHM *at = table; at != NULL && at->algorithm_names != NULL;
         at++)
        OPENSSL_free((void *)at->implementation);
    OPENSSL_free(table);
}

/* Encoders are of use only beside a libcrypto that has what is known here of
 * them. Beside another one there are none of ours, and libcrypto encodes our
 * keys by those of the default provider. */
static void take_over_encoders(warprsa_context *context)
{
    warprsa_algorithms *algorithms = &context->algorithms;

    algorithms->encoder =
        take_over(context, OSSL_OP_ENCODER, NULL, WARPRSA_ALGORITHMS_MAX,
                  warprsa_encoder_wrap);
    if (complete(algorithms->encoder) && set_encoder_properties(algorithms))
        return;
    free_table(algorithms->encoder);
    algorithms->encoder = NULL;
}

bool warprsa_dispatch_init(warprsa_context *context)
{
    warprsa_algorithms *algorithms = &context->algorithms;

    /* A query must not name a property twice. warprsa.offload=yes is for a
     * query that already prefers another provider. */
    algorithms->signature = take_over(
        context, OSSL_OP_SIGNATURE, "provider=warprsa,warprsa.offload=yes",
        WARPRSA_ALGORITHMS_MAX, warprsa_signature_wrap);
    algorithms->asym_cipher = take_over(
        context, OSSL_OP_ASYM_CIPHER, "provider=warprsa,warprsa.offload=yes",
        WARPRSA_ALGORITHMS_MAX, warprsa_asym_cipher_wrap);
    /*
     * libcrypto fetches this KEYMGMT by the provider and by the query that
     * chose our operation. So it has the property of the operations: with
     * another property, a query that demands them would find no KEYMGMT. The
     * price: "?provider=warprsa" chooses this KEYMGMT when a program generates
     * a key or makes a key from numbers. Only the name of the key's provider
     * shows this. Decoders make keys of their own provider.
     */
    algorithms->keymgmt = take_over(context, OSSL_OP_KEYMGMT,
                                    "provider=warprsa,warprsa.keymgmt=yes",
                                    WARPRSA_KEY_TYPES, warprsa_keymgmt_wrap);
    take_over_encoders(context);
    if (complete(algorithms->signature) && complete(algorithms->asym_cipher) &&
        complete(algorithms->keymgmt))
        return true;
    warprsa_raise(&context->core, WARPRSA_R_DEFAULT_PROVIDER,
                  "the default provider offers no RSA, or there is no memory");
    return false;
}

void warprsa_dispatch_free(warprsa_context *context)
{
    free_table(context->algorithms.signature);
    free_table(context->algorithms.asym_cipher);
    free_table(context->algorithms.keymgmt);
    free_table(context->algorithms.encoder);
    context->algorithms = (warprsa_algorithms){0};
}
