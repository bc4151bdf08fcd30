/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The encoding of Protocol Buffers; see protobuf.h.
 */
#include "batching/remote/wire/protobuf.h"

#include <string.h>

enum {
    WIRE_NUMBER = 0,
    WIRE_64_BITS = 1,
    WIRE_BYTES = 2,
    WIRE_32_BITS = 5,
    NUMBER_BYTES_MAX = 10, /* of 64 bits, seven to the byte */
};

/* A varint; it may not end, or have more than 64 bits. */
bool warprsa_protobuf_next_number(warprsa_protobuf_reader *reader,
                                  uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < NUMBER_BYTES_MAX && reader->at < reader->end;
         i++) {
        uint8_t byte = *reader->at++;

        if (i == NUMBER_BYTES_MAX - 1 && byte > 1)
            return false;
        *value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0)
            return true;
    }
    return false;
}

static bool skip(warprsa_protobuf_reader *reader, uint64_t size)
{
    if (size > (size_t)(reader->end - reader->at))
        return false;
    reader->at += size;
    return true;
}

static bool read_value(warprsa_protobuf_reader *reader, unsigned wire,
                       warprsa_protobuf_field *field)
{
    switch (wire) {
    case WIRE_NUMBER:
        field->is_number = true;
        return warprsa_protobuf_next_number(reader, &field->value);
    case WIRE_BYTES:
        if (!warprsa_protobuf_next_number(reader, &field->value))
            return false;
        field->is_bytes = true;
        field->bytes = reader->at;
        field->size = (size_t)field->value;
        return skip(reader, field->value);
    case WIRE_32_BITS:
        return skip(reader, 4);
    case WIRE_64_BITS:
        return skip(reader, 8);
    }
    return false; /* groups, which proto3 does not have */
}

warprsa_protobuf_found warprsa_protobuf_next(warprsa_protobuf_reader *reader,
                                             warprsa_protobuf_field *field)
{
    uint64_t tag;

    memset(field, 0, sizeof(*field));
    if (reader->at == reader->end)
        return WARPRSA_PROTOBUF_END;
    if (!warprsa_protobuf_next_number(reader, &tag) || tag > UINT32_MAX ||
        tag >> 3 == 0 || !read_value(reader, tag & 7, field))
        return WARPRSA_PROTOBUF_MALFORMED;
    field->number = (uint32_t)(tag >> 3);
    return WARPRSA_PROTOBUF_FIELD;
}

static size_t number_bytes(uint64_t value)
{
    size_t bytes = 1;

    while (value >= 0x80) {
        value >>= 7;
        bytes++;
    }
    return bytes;
}

/* Where the next `size` bytes go, or NULL: there is no room. */
static uint8_t *reserve(warprsa_protobuf_writer *writer, size_t size)
{
    uint8_t *at = writer->at;

    if (writer->overrun || size > (size_t)(writer->end - writer->at)) {
        writer->overrun = true;
        return NULL;
    }
    writer->at += size;
    return at;
}

static void put(warprsa_protobuf_writer *writer, uint64_t value)
{
    uint8_t *to = reserve(writer, number_bytes(value));

    if (to == NULL)
        return;
    for (; value >= 0x80; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to = (uint8_t)value;
}

void warprsa_protobuf_put_number(warprsa_protobuf_writer *writer,
                                 uint32_t field, uint64_t value)
{
    if (value == 0)
        return;
    put(writer, (uint64_t)field << 3 | WIRE_NUMBER);
    put(writer, value);
}

void warprsa_protobuf_put_head(warprsa_protobuf_writer *writer, uint32_t field,
                               size_t size)
{
    put(writer, (uint64_t)field << 3 | WIRE_BYTES);
    put(writer, size);
}

void warprsa_protobuf_put_bytes(warprsa_protobuf_writer *writer, uint32_t field,
                                const uint8_t *bytes, size_t size)
{
    uint8_t *to;

    warprsa_protobuf_put_head(writer, field, size);
    to = reserve(writer, size);
    if (to != NULL && size > 0)
        memcpy(to, bytes, size);
}

size_t warprsa_protobuf_number_size(uint32_t field, uint64_t value)
{
    if (value == 0)
        return 0;
    return number_bytes((uint64_t)field << 3) + number_bytes(value);
}

size_t warprsa_protobuf_bytes_size(uint32_t field, size_t size)
{
    return number_bytes((uint64_t)field << 3) + number_bytes(size) + size;
}
