/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzer: references in DER and in PEM. A reference that can be read has one
 * encoding: written in DER it has the same bytes, and written in PEM it is
 * read as the same.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "batching/vault/wire/reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static warprsa_reference reference, again;
static uint8_t der[WARPRSA_REFERENCE_DER_MAX];
static char pem[WARPRSA_REFERENCE_PEM_MAX];

static void want(bool condition)
{
    if (!condition)
        abort();
}

/* `reference` has been read: writes it. Returns its length in DER. */
static size_t write_both(void)
{
    const size_t size = warprsa_reference_write(&reference, der, sizeof(der));
    const size_t length =
        warprsa_reference_write_pem(&reference, pem, sizeof(pem));

    want(size > 0 && length > 0 && length == strlen(pem));
    want(warprsa_reference_read_pem(&again, pem, length) == NULL);
    want(memcmp(&reference, &again, sizeof(again)) == 0);
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy that ends where the reference ends. */
    uint8_t *exact = malloc(size + 1);

    if (exact == NULL)
        return 0;
    memcpy(exact + 1, data, size);
    if (warprsa_reference_read(&reference, exact + 1, size) == NULL)
        want(write_both() == size && memcmp(der, data, size) == 0);
    if (warprsa_reference_read_pem(&reference, (char *)exact + 1, size) == NULL)
        write_both();
    free(exact);
    return 0;
}
