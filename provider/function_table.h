/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Dispatch tables: finding a function, and making a table without the functions
 * that the wrapped provider lacks.
 */
#ifndef WARPRSA_PROVIDER_FUNCTION_TABLE_H
#define WARPRSA_PROVIDER_FUNCTION_TABLE_H

#include <openssl/core.h>

/* A function as tables hold it. */
#define WARPRSA_FUNCTION(f) ((void (*)(void))(f))

/*
 * Returns a table of the functions in `ours` and in `also`, without functions
 * that `theirs` has no entry for: they would have nothing to forward to. All
 * three end with id 0. The caller frees the table by OPENSSL_free(). NULL: no
 * memory. Any thread.
 */
OSSL_DISPATCH *warprsa_function_table_new(const OSSL_DISPATCH *theirs,
                                          const OSSL_DISPATCH *ours,
                                          const OSSL_DISPATCH *also);

/* The function with this id; NULL if the table has none. Any thread. */
void (*warprsa_function_find(const OSSL_DISPATCH *table, int id))(void);

#endif
