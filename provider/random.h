/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The random numbers of this process's workers, for blinding. Workers have a
 * generator of their own. They can't use libcrypto's: the program may have
 * replaced it (RAND_set_rand_method()) by a function that waits for a lock of
 * the program's in the middle of a fork(). And a fork() while a worker is
 * inside would leave libcrypto's locks taken in the child for ever.
 */
#ifndef WARPRSA_PROVIDER_RANDOM_H
#define WARPRSA_PROVIDER_RANDOM_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/types.h>

typedef struct warprsa_random warprsa_random;

/* A CTR-DRBG of NIST SP 800-90A with AES-256, seeded by the operating system.
 * NULL: no memory or no entropy. One thread. */
warprsa_random *warprsa_random_new(OSSL_LIB_CTX *libctx);

/* Fills `out` with `length` random bytes. 0: it failed. It is a
 * warprsa_random_fn, and `random` is a warprsa_random. Any thread. */
int warprsa_random_bytes(void *random, void *out, size_t length);

/* Frees it; NULL is allowed. No thread uses it. In a forked child the parent's
 * may be freed, whatever the parent was doing. */
void warprsa_random_free(warprsa_random *random);

#endif
