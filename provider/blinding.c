/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "provider/blinding.h"

#include <openssl/bn.h>

#include "batching/base/thread_shard.h"

/* Where this thread begins to look: mostly the one it used last time. */
static unsigned first_place(void)
{
    return warprsa_thread_shard() % WARPRSA_BLINDINGS;
}

static BN_BLINDING *take(warprsa_rsa *ours, RSA *rsa, BN_CTX *bn_ctx)
{
    unsigned first = first_place();

    for (unsigned i = 0; i < WARPRSA_BLINDINGS; i++) {
        _Atomic(BN_BLINDING *) *place =
            &ours->blindings[(first + i) % WARPRSA_BLINDINGS];

        if (atomic_load_explicit(place, memory_order_relaxed) != NULL) {
            BN_BLINDING *found =
                atomic_exchange_explicit(place, NULL, memory_order_acquire);

            if (found != NULL)
                return found;
        }
    }
    return RSA_setup_blinding(rsa, bn_ctx);
}

static void give_back(warprsa_rsa *ours, BN_BLINDING *blinding)
{
    unsigned first = first_place();

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
    BN_BLINDING *blinding = take(ours, rsa, bn_ctx);
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
        /* As libcrypto does: the unblinding is where a secret-dependent
         * length of r0 would show. */
        BN_set_flags(r0, BN_FLG_CONSTTIME);
        ok = BN_BLINDING_invert_ex(r0, NULL, blinding, bn_ctx);
    }
    BN_CTX_end(bn_ctx);
    give_back(ours, blinding);
    return ok;
}
