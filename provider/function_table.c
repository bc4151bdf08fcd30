/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Searching and filtering dispatch tables.
 */
#include "provider/function_table.h"

#include <openssl/crypto.h>

void (*warprsa_function_find(const OSSL_DISPATCH *table, int id))(void)
{
    for (; table->function_id != 0; table++)
        if (table->function_id == id)
            return table->function;
    return NULL;
}

static size_t length_of(const OSSL_DISPATCH *table)
{
    size_t length = 0;

    while (table[length].function_id != 0)
        length++;
    return length;
}

/* Copies what `theirs` has an entry for. Returns the end of the copy. */
static OSSL_DISPATCH *copy_common(OSSL_DISPATCH *to,
                                  const OSSL_DISPATCH *theirs,
                                  const OSSL_DISPATCH *ours)
{
    for (; ours->function_id != 0; ours++)
        if (warprsa_function_find(theirs, ours->function_id) != NULL)
            *to++ = *ours;
    return to;
}

OSSL_DISPATCH *warprsa_function_table_new(const OSSL_DISPATCH *theirs,
                                          const OSSL_DISPATCH *ours,
                                          const OSSL_DISPATCH *also)
{
    OSSL_DISPATCH *table = OPENSSL_zalloc(
        (length_of(ours) + length_of(also) + 1) * sizeof(*table));

    if (table != NULL) /* zalloc() has ended it */
        copy_common(copy_common(table, theirs, ours), theirs, also);
    return table;
}
