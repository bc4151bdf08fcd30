/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The generator of random numbers for the workers: see random.h.
 */
#include "provider/random.h"

#include <pthread.h>
#include <stdlib.h>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

enum {
    STRENGTH = 256, /* bits */
};

struct warprsa_random {
    /* The lock is this file's, and nothing beneath it is the program's. The
     * generator is seeded once, so it needs no further lock, memory or
     * entropy. */
    pthread_mutex_t lock;
    EVP_RAND_CTX *generator;
};

static bool seed(EVP_RAND_CTX *generator)
{
    unsigned never = 0;
    time_t no_time = 0;
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_DRBG_PARAM_CIPHER,
                                         (char *)"AES-256-CTR", 0),
        OSSL_PARAM_construct_uint(OSSL_DRBG_PARAM_RESEED_REQUESTS, &never),
        OSSL_PARAM_construct_time_t(OSSL_DRBG_PARAM_RESEED_TIME_INTERVAL,
                                    &no_time),
        OSSL_PARAM_construct_end(),
    };

    return EVP_RAND_instantiate(generator, STRENGTH, 0, NULL, 0, params) == 1;
}

static EVP_RAND_CTX *generator_new(OSSL_LIB_CTX *libctx)
{
    EVP_RAND *type = EVP_RAND_fetch(libctx, "CTR-DRBG", NULL);
    EVP_RAND_CTX *generator =
        type != NULL ? EVP_RAND_CTX_new(type, NULL) : NULL;

    EVP_RAND_free(type);
    if (generator == NULL || seed(generator))
        return generator;
    EVP_RAND_CTX_free(generator);
    return NULL;
}

warprsa_random *warprsa_random_new(OSSL_LIB_CTX *libctx)
{
    warprsa_random *random = calloc(1, sizeof(*random));

    if (random == NULL)
        return NULL;
    if (pthread_mutex_init(&random->lock, NULL) == 0) {
        random->generator = generator_new(libctx);
        if (random->generator != NULL)
            return random;
        pthread_mutex_destroy(&random->lock);
    }
    free(random);
    return NULL;
}

int warprsa_random_bytes(void *arg, void *out, size_t length)
{
    warprsa_random *random = arg;
    int ok;

    pthread_mutex_lock(&random->lock);
    ok = EVP_RAND_generate(random->generator, out, length, STRENGTH, 0, NULL,
                           0) == 1;
    pthread_mutex_unlock(&random->lock);
    return ok;
}

void warprsa_random_free(warprsa_random *random)
{
    if (random == NULL)
        return;
    EVP_RAND_CTX_free(random->generator);
    free(random); /* not destroyed: in a child the lock may be taken */
}
