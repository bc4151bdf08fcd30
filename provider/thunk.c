/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Searching and copying dispatch tables.
 */
#include "provider/thunk.h"

#include <openssl/crypto.h>

void (*warprsa_thunk_find(const OSSL_DISPATCH *table, int id))(void)
{
    for (; table->function_id != 0; table++)
        if (table->function_id == id)
            return table->function;
    return NULL;
}

OSSL_DISPATCH *warprsa_thunk_replace(const OSSL_DISPATCH *table,
                                     const warprsa_thunk *thunks, int id_max)
{
    OSSL_DISPATCH *copy = NULL, *to = NULL;
    size_t entries = 1;

    for (const OSSL_DISPATCH *from = table; from->function_id != 0; from++)
        entries++;
    to = copy = OPENSSL_zalloc(entries * sizeof(*copy));
    if (copy == NULL)
        return NULL;
    for (; table->function_id != 0; table++) {
        const warprsa_thunk *thunk = thunks;

        while (thunk->function_id != 0 &&
               thunk->function_id != table->function_id)
            thunk++;
        to->function_id = table->function_id;
        to->function =
            thunk->function_id != 0 ? thunk->function : table->function;
        if (to->function != NULL && to->function_id <= id_max)
            to++;
    }
    *to = (OSSL_DISPATCH){0, NULL};
    return copy;
}
