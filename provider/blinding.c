/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The idle blindings of a key, which threads take and put back without a lock,
 * and the blinded exponentiation. See blinding.h.
 */
#include "provider/blinding.h"

#include <openssl/bn.h>

#include "batching/base/thread_shard.h"
#include "provider/libcrypto.h"

/* The index at which this thread begins to look: mostly that of the blinding it
 * used last time. */
static unsigned first_index(void)
{
    return warprsa_thread_shard() % WARPRSA_BLINDINGS;
}

/* Takes an idle blinding out of the key's, or makes one. */
static BN_BLINDING *acquire(warprsa_rsa *ours, RSA *rsa, BN_CTX *bn_ctx)
{
    unsigned first = first_index();

    for (unsigned i = 0; i < WARPRSA_BLINDINGS; i++) {
        _Atomic(BN_BLINDING *) *entry =
            &ours->blindings[(first + i) % WARPRSA_BLINDINGS];

        if (atomic_load_explicit(entry, memory_order_relaxed) != NULL) {
            BN_BLINDING *found =
                atomic_exchange_explicit(entry, NULL, memory_order_acquire);

            if (found != NULL)
                return found;
        }
    }
    /* A program may still sign in a handler of exit(); without its random
     * generator libcrypto would crash. */
    return warprsa_libcrypto_stopped() ? NULL : RSA_setup_blinding(rsa, bn_ctx);
}

/* Puts a blinding among the key's idle ones; frees it if all are there. */
static void release(warprsa_rsa *ours, BN_BLINDING *blinding)
{
    unsigned first = first_index();

    for (unsigned i = 0; i < WARPRSA_BLINDINGS; i++) {
        BN_BLINDING *none = NULL;

        if (atomic_compare_exchange_strong_explicit(
                &ours->blindings[(first + i) % WARPRSA_BLINDINGS], &none,
                blinding, memory_order_release, memory_order_relaxed))
            return;
    }
    BN_BLINDING_free(blinding);
}

int warprsa_blinded(warprsa_rsa *ours, warprsa_mod_exp_fn *compute, BIGNUM *r0,
                    const BIGNUM *in, RSA *rsa, BN_CTX *bn_ctx)
{
    BN_BLINDING *blinding = acquire(ours, rsa, bn_ctx);
    BIGNUM *blinded = NULL;
    int ok = 0;

    if (blinding == NULL)
        return 0;
    BN_CTX_start(bn_ctx);
    blinded = BN_CTX_get(bn_ctx);
    ok = blinded != NULL && BN_copy(blinded, in) != NULL &&
         BN_BLINDING_convert_ex(blinded, NULL, blinding, bn_ctx) &&
         compute(r0, blinded, rsa, bn_ctx);
    if (ok) {
        /* As libcrypto does. The unblinding is the step whose time would
         * depend on the length of r0, and so on a secret. */
        BN_set_flags(r0, BN_FLG_CONSTTIME);
        ok = BN_BLINDING_invert_ex(r0, NULL, blinding, bn_ctx);
    }
    BN_CTX_end(bn_ctx);
    release(ours, blinding);
    return ok;
}
