/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What warprsad counts of its vault's keys, summed by the daemon's user, the
 * key, and who used it. Any user can make up accounts, but only its own.
 */
#ifndef WARPRSA_BATCHING_STAT_KEY_SUMS_H
#define WARPRSA_BATCHING_STAT_KEY_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/stat/users.h"
#include "batching/vault/wire/key_accounts.h"

/* Plain text: no quotes, no backslashes, no control characters. */
typedef struct warprsa_key_sum {
    const warprsa_user_seat *user; /* whose daemon it is */
    char key[WARPRSA_KEY_NAME_SIZE];
    char by[WARPRSA_ACCOUNT_BY_SIZE];
    uint64_t uses;
    uint64_t denials[WARPRSA_DENIALS]; /* by warprsa_denial */
} warprsa_key_sum;

/* All zeros to begin with. */
typedef struct warprsa_key_sums {
    warprsa_key_sum *list;
    size_t count, size;
} warprsa_key_sums;

/* Reads a row of accounts, `user` being the daemon's. False: nothing has been
 * counted there. */
bool warprsa_key_sum_read(const warprsa_key_accounts *accounts, unsigned row,
                          const warprsa_user_seat *user, warprsa_key_sum *sum);

/* Adds all rows of accounts. False: no memory. */
bool warprsa_key_sums_add(warprsa_key_sums *sums,
                          const warprsa_key_accounts *accounts,
                          const warprsa_user_seat *user);

/* Makes one sum of those of the same daemon's user, key and user, in the order
 * of these. To be called once all are added. */
void warprsa_key_sums_merge(warprsa_key_sums *sums);

void warprsa_key_sums_free(warprsa_key_sums *sums);

#endif
