/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing the module's libcrypto.
 */
#include "pkcs11/crypto.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>

/*
 * A libcrypto that is linked into the module is set up so that nothing of it
 * outlives the module's use: no handler of exit(), which would take it down
 * beneath threads that still sign, and no configuration of the program's. If it
 * is the program's own libcrypto, its settings are none of the module's
 * business.
 */
static bool set_up(void)
{
#ifdef WARPRSA_OWN_LIBCRYPTO
    return OPENSSL_init_crypto(
               OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1;
#else
    return true;
#endif
}

bool warprsa_crypto_init(warprsa_crypto *crypto)
{
    memset(crypto, 0, sizeof(*crypto));
    if (!set_up())
        return false;
    crypto->libctx = OSSL_LIB_CTX_new();
    if (crypto->libctx != NULL)
        crypto->provider = OSSL_PROVIDER_load(crypto->libctx, "default");
    if (crypto->provider == NULL) {
        warprsa_crypto_free(crypto);
        return false;
    }
    for (unsigned i = WARPRSA_DIGEST_NONE + 1; i < WARPRSA_USE_DIGESTS; i++)
        crypto->digests[i] =
            EVP_MD_fetch(crypto->libctx, warprsa_use_digest_name(i), NULL);
    ERR_clear_error();
    return true;
}

void warprsa_crypto_free(warprsa_crypto *crypto)
{
    for (unsigned i = 0; i < WARPRSA_USE_DIGESTS; i++)
        EVP_MD_free(crypto->digests[i]);
    if (crypto->provider != NULL)
        OSSL_PROVIDER_unload(crypto->provider);
    OSSL_LIB_CTX_free(crypto->libctx);
    memset(crypto, 0, sizeof(*crypto));
}
