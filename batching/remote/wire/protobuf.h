/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The encoding of Protocol Buffers (proto3): fields read from a message in
 * place, and written into a buffer. Nothing is allocated or copied aside, so
 * that a message with a private key can be wiped where it lies; no library does
 * that. The peer may be anyone: each length is checked against what is there.
 */
#ifndef WARPRSA_BATCHING_REMOTE_WIRE_PROTOBUF_H
#define WARPRSA_BATCHING_REMOTE_WIRE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rest of a message. */
typedef struct warprsa_protobuf_reader {
    const uint8_t *at, *end;
} warprsa_protobuf_reader;

/* A field. `bytes` and `size` are for a string or message, in place; `value` is
 * for a number. A field of 32 or 64 fixed bits has neither; warprsa's messages
 * have no such field. */
typedef struct warprsa_protobuf_field {
    uint32_t number;
    bool is_number, is_bytes;
    uint64_t value;
    const uint8_t *bytes;
    size_t size;
} warprsa_protobuf_field;

typedef enum warprsa_protobuf_found {
    WARPRSA_PROTOBUF_FIELD,
    WARPRSA_PROTOBUF_END,
    WARPRSA_PROTOBUF_MALFORMED,
} warprsa_protobuf_found;

/* Reads the next field. */
warprsa_protobuf_found warprsa_protobuf_next(warprsa_protobuf_reader *reader,
                                             warprsa_protobuf_field *field);

/* Reads the next number of a packed repeated field, whose bytes the reader has.
 * False: there is none, or it is malformed. */
bool warprsa_protobuf_next_number(warprsa_protobuf_reader *reader,
                                  uint64_t *value);

/* Where to write. Nothing is written beyond `end`; `overrun` is set instead. */
typedef struct warprsa_protobuf_writer {
    uint8_t *at, *end;
    bool overrun;
} warprsa_protobuf_writer;

/* A field with a number; none if it is 0, the default. */
void warprsa_protobuf_put_number(warprsa_protobuf_writer *writer,
                                 uint32_t field, uint64_t value);

/* A field with bytes, also with none of them. */
void warprsa_protobuf_put_bytes(warprsa_protobuf_writer *writer, uint32_t field,
                                const uint8_t *bytes, size_t size);

/* The head of a field that is a message of `size` bytes, which must follow. */
void warprsa_protobuf_put_head(warprsa_protobuf_writer *writer, uint32_t field,
                               size_t size);

/* How many bytes put_number() and put_bytes() write. */
size_t warprsa_protobuf_number_size(uint32_t field, uint64_t value);
size_t warprsa_protobuf_bytes_size(uint32_t field, size_t size);

#endif
