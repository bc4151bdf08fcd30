/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's secrets; see secrets.h.
 */
#include "batching/daemon/process/secrets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

static uint8_t id_secret[32];

bool warprsa_secrets_init(void)
{
    /* The machine's openssl.cnf is not read: it may load the provider whose
     * operations this daemon computes. */
    return OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1 &&
           RAND_priv_bytes(id_secret, sizeof(id_secret)) == 1;
}

int warprsa_secrets_random(void *arg, void *out, size_t length)
{
    (void)arg;
    return RAND_priv_bytes_ex(NULL, out, length, 0) == 1;
}

bool warprsa_secrets_key_id(const warprsa_private_key *key,
                            uint8_t id[WARPRSA_KEY_ID_BYTES])
{
    size_t length = 0;

    return EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, id_secret,
                     sizeof(id_secret), (const unsigned char *)key,
                     sizeof(*key), id, WARPRSA_KEY_ID_BYTES, &length) != NULL &&
           length == WARPRSA_KEY_ID_BYTES;
}

void warprsa_secrets_forbid_dumps(char *why, size_t why_size)
{
    struct rlimit none = {0, 0};

    why[0] = '\0';
    if (prctl(PR_SET_DUMPABLE, 0) != 0 || setrlimit(RLIMIT_CORE, &none) != 0)
        snprintf(why, why_size, "core dumps can't be switched off: %s",
                 strerror(errno));
}

void warprsa_secrets_lock_memory(char *why, size_t why_size)
{
    struct rlimit locked;

    why[0] = '\0';
    /* Where locked memory is limited, MCL_FUTURE would make allocations fail
     * later on. */
    if (getrlimit(RLIMIT_MEMLOCK, &locked) != 0 ||
        locked.rlim_cur != RLIM_INFINITY)
        snprintf(why, why_size,
                 "memory isn't locked: RLIMIT_MEMLOCK is not unlimited");
    else if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0)
        snprintf(why, why_size, "memory isn't locked: %s", strerror(errno));
}
