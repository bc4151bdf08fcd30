/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bytes on their way, which may hold a private key: memory that grows, and that
 * is wiped as soon as its bytes have gone on. One thread at a time.
 */
#ifndef WARPRSA_BATCHING_REMOTE_WIRE_BYTES_H
#define WARPRSA_BATCHING_REMOTE_WIRE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* What waits is from..to. All zero: nothing. */
typedef struct warprsa_bytes {
    uint8_t *bytes;
    size_t from, to, room;
} warprsa_bytes;

static inline size_t warprsa_bytes_waiting(const warprsa_bytes *b)
{
    return b->to - b->from;
}

/* Where `size` more bytes go; `to` is increased by whoever has put them there.
 * NULL: no memory, and nothing has changed. */
uint8_t *warprsa_bytes_reserve(warprsa_bytes *b, size_t size);

/* Takes away the first `size` bytes, which have gone on. */
void warprsa_bytes_take(warprsa_bytes *b, size_t size);

/* Wipes and frees. */
void warprsa_bytes_free(warprsa_bytes *b);

#endif
