/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A buffer of bytes on their way, which may hold a private key. It grows, and
 * is wiped as soon as its bytes have gone on. One thread at a time.
 */
#ifndef WARPRSA_BATCHING_REMOTE_WIRE_BYTES_H
#define WARPRSA_BATCHING_REMOTE_WIRE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* The waiting bytes are from..to. All zeros: none. */
typedef struct warprsa_bytes {
    uint8_t *bytes;
    size_t from, to, room;
} warprsa_bytes;

static inline size_t warprsa_bytes_waiting(const warprsa_bytes *b)
{
    return b->to - b->from;
}

/* Returns room for `size` more bytes; the caller writes them and increases
 * `to`. NULL: no memory, and nothing has changed. */
uint8_t *warprsa_bytes_reserve(warprsa_bytes *b, size_t size);

/* Takes away the first `size` bytes, which have gone on. */
void warprsa_bytes_take(warprsa_bytes *b, size_t size);

/* Wipes and frees. */
void warprsa_bytes_free(warprsa_bytes *b);

#endif
