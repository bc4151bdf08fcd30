/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of a warprsa_rsa: attached to an RSA, classified by the RSA's
 * numbers, given a key in the backend, and freed with the RSA.
 */
#include "provider/key.h"

#include <stdlib.h>

#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "batching/base/cancellation.h"

static void free_handles(warprsa_rsa *ours)
{
    warprsa_key_handle *handle = atomic_load(&ours->handle);
    int cancellation = warprsa_cancellation_off();

    while (handle != NULL) {
        warprsa_key_handle *parent = handle->parent;

        if (warprsa_instance_is_mine(handle->instance))
            handle->ops->key_release(handle->key);
        else
            handle->ops->key_abandon(handle->key);
        OPENSSL_free(handle);
        handle = parent;
    }
    warprsa_cancellation_restore(cancellation);
}

static void free_ours(warprsa_rsa *ours)
{
    if (ours == NULL)
        return;
    free_handles(ours);
    for (int i = 0; i < WARPRSA_BLINDINGS; i++)
        BN_BLINDING_free(atomic_load(&ours->blindings[i]));
    RSA_meth_free(ours->method);
    OPENSSL_free(ours->reference);
    OPENSSL_free(ours->modulus);
    OPENSSL_free(ours);
}

/* libcrypto calls this as the first step of freeing the RSA and does not use
 * the method afterwards, so the method can be freed here. */
static int finish(RSA *rsa)
{
    int ok = RSA_meth_get_finish(RSA_PKCS1_OpenSSL())(rsa);

    free_ours(warprsa_rsa_of(rsa));
    return ok;
}

warprsa_rsa *warprsa_rsa_of(const RSA *rsa)
{
    const RSA_METHOD *method = RSA_get_method(rsa);

    return RSA_meth_get_finish(method) == finish
               ? RSA_meth_get0_app_data(method)
               : NULL;
}

bool warprsa_rsa_attach(warprsa_context *context, unsigned type, RSA *rsa,
                        RSA_METHOD *method)
{
    warprsa_rsa *ours = OPENSSL_zalloc(sizeof(*ours));

    if (ours == NULL) {
        RSA_meth_free(method);
        return false;
    }
    ours->context = context;
    ours->type = type;
    ours->size_class = -1;
    ours->method = method;
    if (!RSA_meth_set0_app_data(method, ours) ||
        !RSA_meth_set_finish(method, finish) || !RSA_set_method(rsa, method) ||
        warprsa_rsa_of(rsa) != ours) {
        free_ours(ours);
        return false;
    }
    return true;
}

bool warprsa_rsa_set_reference(RSA *rsa, const warprsa_key_reference *from)
{
    warprsa_rsa *ours = warprsa_rsa_of(rsa);
    const int size = RSA_size(rsa);

    ours->reference = OPENSSL_memdup(from, sizeof(*from));
    OPENSSL_free(ours->modulus);
    ours->modulus = OPENSSL_malloc((size_t)size);
    if (ours->reference == NULL || ours->modulus == NULL ||
        BN_bn2binpad(RSA_get0_n(rsa), ours->modulus, size) != size)
        return false;
    RSA_set_flags(rsa, RSA_FLAG_EXT_PKEY | RSA_FLAG_NO_BLINDING);
    return true;
}

bool warprsa_rsa_is_reference(const RSA *rsa)
{
    const warprsa_rsa *ours = warprsa_rsa_of(rsa);

    return ours != NULL && ours->reference != NULL;
}

/* Copies the numbers of an RSA. False: one is missing or too long. */
static bool fill(warprsa_private_key *key, const RSA *rsa)
{
    const BIGNUM *n, *e, *p, *q, *dp, *dq, *qinv;

    RSA_get0_key(rsa, &n, &e, NULL);
    RSA_get0_factors(rsa, &p, &q);
    RSA_get0_crt_params(rsa, &dp, &dq, &qinv);
    if (n == NULL || e == NULL || p == NULL || q == NULL || dp == NULL ||
        dq == NULL || qinv == NULL || RSA_get_multi_prime_extra_count(rsa) != 0)
        return false;
    key->modulus_bytes = (uint32_t)BN_num_bytes(n);
    return BN_bn2binpad(n, key->n, sizeof(key->n)) > 0 &&
           BN_bn2binpad(e, key->e, sizeof(key->e)) > 0 &&
           BN_bn2binpad(p, key->p, sizeof(key->p)) > 0 &&
           BN_bn2binpad(q, key->q, sizeof(key->q)) > 0 &&
           BN_bn2binpad(dp, key->dp, sizeof(key->dp)) > 0 &&
           BN_bn2binpad(dq, key->dq, sizeof(key->dq)) > 0 &&
           BN_bn2binpad(qinv, key->qinv, sizeof(key->qinv)) > 0;
}

/* The numbers of an RSA, which the caller wipes and frees: a stack may have no
 * room for them. NULL: one is missing or too long, or there is no memory.
 * Leaves no error. */
static warprsa_private_key *numbers_of(const RSA *rsa)
{
    warprsa_private_key *key = NULL;
    bool ok = false;

    ERR_set_mark();
    key = OPENSSL_zalloc(sizeof(*key));
    ok = key != NULL && fill(key, rsa);
    ERR_pop_to_mark();
    if (ok)
        return key;
    OPENSSL_clear_free(key, sizeof(*key));
    return NULL;
}

/* libcrypto's condition for calling the method's mod_exp, from its source. */
static bool uses_mod_exp(const RSA *rsa)
{
    const BIGNUM *p, *q, *dp, *dq, *qinv;

    RSA_get0_factors(rsa, &p, &q);
    RSA_get0_crt_params(rsa, &dp, &dq, &qinv);
    return RSA_get_version((RSA *)rsa) == RSA_ASN1_VERSION_MULTI ||
           (p != NULL && q != NULL && dp != NULL && dq != NULL && qinv != NULL);
}

void warprsa_rsa_classify(RSA *rsa)
{
    warprsa_rsa *ours = warprsa_rsa_of(rsa);
    warprsa_private_key *key = NULL;

    if (ours == NULL)
        return;
    ours->uses_mod_exp = uses_mod_exp(rsa);
    key = numbers_of(rsa);
    ours->size_class = key != NULL ? warprsa_key_class(key) : -1;
    OPENSSL_free(ours->modulus);
    ours->modulus =
        ours->size_class < 0
            ? NULL
            : OPENSSL_memdup(key->n + sizeof(key->n) - key->modulus_bytes,
                             key->modulus_bytes);
    OPENSSL_clear_free(key, sizeof(*key));
    /*
     * libcrypto keeps the unblinding factor of a thread's operation with the
     * key. While an async job pauses inside the exponentiation, another job of
     * the same thread may overwrite the factor. So libcrypto's blinding is off
     * for keys whose operations may pause: the engines blind by themselves, and
     * on the CPU warprsa_blinded() does. An operation with a key without a size
     * class never pauses, or never calls our mod_exp; such a key keeps
     * libcrypto's blinding.
     */
    if (ours->size_class >= 0)
        RSA_set_flags(rsa, RSA_FLAG_NO_BLINDING);
}

/* The backend's key for these numbers, found by their digest or loaded. */
static warprsa_backend_key *find_key(const warprsa_rsa *ours, const RSA *rsa,
                                     const warprsa_backend *backend)
{
    warprsa_private_key *key = numbers_of(rsa);
    uint8_t id[EVP_MAX_MD_SIZE];
    size_t length = 0;
    warprsa_backend_key *found = NULL;

    if (key == NULL)
        return NULL;
    ERR_set_mark();
    if (EVP_Q_digest(ours->context->libctx, "SHA256", NULL, key, sizeof(*key),
                     id, &length) &&
        length == WARPRSA_KEY_ID_BYTES)
        found = backend->ops->key(backend->impl, id, key);
    ERR_pop_to_mark();
    OPENSSL_clear_free(key, sizeof(*key));
    OPENSSL_cleanse(id, sizeof(id));
    return found;
}

/* The key of a handle if that is the instance's. */
static warprsa_backend_key *key_in(const warprsa_key_handle *handle,
                                   const warprsa_instance *instance)
{
    return handle != NULL && handle->instance == instance ? handle->key : NULL;
}

warprsa_backend_key *warprsa_rsa_held_key(const warprsa_rsa *ours,
                                          const warprsa_instance *instance)
{
    return key_in(atomic_load_explicit(&ours->handle, memory_order_acquire),
                  instance);
}

warprsa_backend_key *warprsa_rsa_hold_key(warprsa_rsa *ours,
                                          warprsa_instance *instance,
                                          const warprsa_backend_ops *ops,
                                          warprsa_backend_key *key)
{
    warprsa_key_handle *old = atomic_load(&ours->handle);
    warprsa_key_handle *mine = NULL;

    if (key_in(old, instance) == NULL)
        mine = OPENSSL_zalloc(sizeof(*mine));
    if (mine != NULL) {
        *mine = (warprsa_key_handle){instance, ops, key, old};
        if (atomic_compare_exchange_strong(&ours->handle, &old, mine))
            return key;
    }
    /* No memory, or another thread has set the handle in between. */
    ops->key_release(key);
    OPENSSL_free(mine);
    return key_in(old, instance);
}

warprsa_backend_key *warprsa_rsa_key(warprsa_rsa *ours, const RSA *rsa,
                                     warprsa_instance *instance,
                                     const warprsa_backend *backend)
{
    warprsa_backend_key *key = warprsa_rsa_held_key(ours, instance);

    if (key != NULL)
        return key;
    key = find_key(ours, rsa, backend);
    return key == NULL
               ? NULL
               : warprsa_rsa_hold_key(ours, instance, backend->ops, key);
}
