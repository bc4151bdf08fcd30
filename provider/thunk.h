/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Copies of a provider's dispatch table in which some functions are replaced
 * by thunks: functions that call the original with other arguments.
 */
#ifndef WARPRSA_PROVIDER_THUNK_H
#define WARPRSA_PROVIDER_THUNK_H

#include <openssl/core.h>

/* One replacement: `function` takes the place of the entry with this id. */
typedef struct warprsa_thunk {
    int function_id;
    void (*function)(void);
} warprsa_thunk;

/*
 * Returns a copy of `table` in which each thunk replaces the entry with its
 * id. `thunks` ends with id 0. A thunk whose function is NULL removes the
 * entry. Entries with an id above id_max are removed too: they were unknown
 * when this was written and might need a thunk. The caller frees the copy by
 * OPENSSL_free(). NULL: no memory. Any thread.
 */
OSSL_DISPATCH *warprsa_thunk_replace(const OSSL_DISPATCH *table,
                                     const warprsa_thunk *thunks, int id_max);

/* The function with this id; NULL if the table has none. Any thread. */
void (*warprsa_thunk_find(const OSSL_DISPATCH *table, int id))(void);

#endif
