/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bytes on their way; see bytes.h.
 */
#include "batching/remote/wire/bytes.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROOM_FIRST = 4096,
};

uint8_t *warprsa_bytes_reserve(warprsa_bytes *b, size_t size)
{
    size_t have = warprsa_bytes_waiting(b);
    size_t room = b->room > 0 ? b->room : ROOM_FIRST;
    uint8_t *bytes;

    if (b->bytes != NULL && b->room - b->to >= size)
        return b->bytes + b->to;
    while (room < have + size)
        room *= 2;
    bytes = malloc(room);
    if (bytes == NULL)
        return NULL;
    if (have > 0)
        memcpy(bytes, b->bytes + b->from, have);
    warprsa_bytes_free(b);
    *b = (warprsa_bytes){bytes, 0, have, room};
    return bytes + have;
}

void warprsa_bytes_take(warprsa_bytes *b, size_t size)
{
    explicit_bzero(b->bytes + b->from, size);
    b->from += size;
    if (b->from == b->to)
        b->from = b->to = 0;
}

void warprsa_bytes_free(warprsa_bytes *b)
{
    if (b->bytes != NULL)
        explicit_bzero(b->bytes, b->room);
    free(b->bytes);
    memset(b, 0, sizeof(*b));
}
