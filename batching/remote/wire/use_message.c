/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The message Use; see use_message.h. The numbers of fields and of enums are
 * those of warprsa.proto.
 */
#include "batching/remote/wire/use_message.h"

#include <string.h>

typedef warprsa_protobuf_field field;

enum {
    PURPOSE = 1,
    PADDING,
    DIGEST,
    MGF1_DIGEST,
    SALT_BYTES,
    LABEL,
    TLS_CLIENT_VERSION,
    TLS_ALTERNATIVE_VERSION,
};

#define SAME(ours, of_the_proto)                                               \
    _Static_assert((ours) == (of_the_proto),                                   \
                   "warprsa.proto has the numbers of key_use.h")
SAME(WARPRSA_USE_SIGN, 1);
SAME(WARPRSA_USE_DECRYPT, 2);
SAME(WARPRSA_USE_OPERATIONS, 3);
SAME(WARPRSA_PADDING_NONE, 1);
SAME(WARPRSA_PADDING_PKCS1, 2);
SAME(WARPRSA_PADDING_PSS, 3);
SAME(WARPRSA_PADDING_OAEP, 4);
SAME(WARPRSA_PADDING_TLS, 5);
SAME(WARPRSA_USE_PADDINGS, 6);
SAME(WARPRSA_DIGEST_NONE, 0);
SAME(WARPRSA_DIGEST_MD5, 1);
SAME(WARPRSA_DIGEST_SHA1, 2);
SAME(WARPRSA_DIGEST_MD5_SHA1, 3);
SAME(WARPRSA_DIGEST_RIPEMD160, 4);
SAME(WARPRSA_DIGEST_SHA224, 5);
SAME(WARPRSA_DIGEST_SHA256, 6);
SAME(WARPRSA_DIGEST_SHA384, 7);
SAME(WARPRSA_DIGEST_SHA512, 8);
SAME(WARPRSA_DIGEST_SHA512_224, 9);
SAME(WARPRSA_DIGEST_SHA512_256, 10);
SAME(WARPRSA_DIGEST_SHA3_224, 11);
SAME(WARPRSA_DIGEST_SHA3_256, 12);
SAME(WARPRSA_DIGEST_SHA3_384, 13);
SAME(WARPRSA_DIGEST_SHA3_512, 14);
SAME(WARPRSA_DIGEST_BLAKE2S256, 15);
SAME(WARPRSA_DIGEST_BLAKE2B512, 16);
SAME(WARPRSA_DIGEST_SM3, 17);
SAME(WARPRSA_DIGEST_SHAKE128, 18);
SAME(WARPRSA_DIGEST_SHAKE256, 19);
SAME(WARPRSA_USE_DIGESTS, 20);
SAME(WARPRSA_SALT_DIGEST, -1);
SAME(WARPRSA_SALT_MAX, -3);
SAME(WARPRSA_SALT_AUTO_DIGEST_MAX, -4);
#undef SAME

/* What warprsa.proto calls sint32: 0, -1, 1, -2, ... as 0, 1, 2, 3, ... */
static uint32_t zigzag(int32_t value)
{
    return (uint32_t)value << 1 ^ (value < 0 ? UINT32_MAX : 0);
}

static int32_t of_zigzag(uint32_t value)
{
    return (int32_t)(value >> 1) ^ -(int32_t)(value & 1);
}

static bool get_u8(const field *f, uint8_t *value)
{
    *value = (uint8_t)f->value;
    return f->value <= UINT8_MAX;
}

static bool get_u16(const field *f, uint16_t *value)
{
    *value = (uint16_t)f->value;
    return f->value <= UINT16_MAX;
}

static bool get_label(const field *f, warprsa_key_use *use)
{
    if (f->size > sizeof(use->label))
        return false;
    memset(use->label, 0, sizeof(use->label));
    memcpy(use->label, f->bytes, f->size);
    use->label_bytes = (uint16_t)f->size;
    return true;
}

/* Takes a field of the right kind. False: its value fits into no use. */
static bool get_field(const field *f, warprsa_key_use *use)
{
    switch (f->number) {
    case PURPOSE:
        return get_u8(f, &use->operation);
    case PADDING:
        return get_u8(f, &use->padding);
    case DIGEST:
        return get_u8(f, &use->digest);
    case MGF1_DIGEST:
        return get_u8(f, &use->mgf1_digest);
    case SALT_BYTES:
        use->salt_bytes = of_zigzag((uint32_t)f->value);
        return f->value <= UINT32_MAX;
    case LABEL:
        return get_label(f, use);
    case TLS_CLIENT_VERSION:
        return get_u16(f, &use->tls_client_version);
    case TLS_ALTERNATIVE_VERSION:
        return get_u16(f, &use->tls_alternative_version);
    }
    return true;
}

bool warprsa_remote_read_use(warprsa_protobuf_reader in, warprsa_key_use *use)
{
    warprsa_protobuf_found found;
    bool fits = true;
    field f;

    memset(use, 0, sizeof(*use));
    while ((found = warprsa_protobuf_next(&in, &f)) == WARPRSA_PROTOBUF_FIELD) {
        if (f.number <= TLS_ALTERNATIVE_VERSION &&
            !(f.number == LABEL ? f.is_bytes : f.is_number))
            return false;
        fits = get_field(&f, use) && fits;
    }
    if (!fits)
        memset(use, 0, sizeof(*use));
    return found == WARPRSA_PROTOBUF_END;
}

size_t warprsa_remote_use_size(const warprsa_key_use *use)
{
    return warprsa_protobuf_number_size(PURPOSE, use->operation) +
           warprsa_protobuf_number_size(PADDING, use->padding) +
           warprsa_protobuf_number_size(DIGEST, use->digest) +
           warprsa_protobuf_number_size(MGF1_DIGEST, use->mgf1_digest) +
           warprsa_protobuf_number_size(SALT_BYTES, zigzag(use->salt_bytes)) +
           (use->label_bytes > 0
                ? warprsa_protobuf_bytes_size(LABEL, use->label_bytes)
                : 0) +
           warprsa_protobuf_number_size(TLS_CLIENT_VERSION,
                                        use->tls_client_version) +
           warprsa_protobuf_number_size(TLS_ALTERNATIVE_VERSION,
                                        use->tls_alternative_version);
}

void warprsa_remote_put_use(warprsa_protobuf_writer *w,
                            const warprsa_key_use *use)
{
    warprsa_protobuf_put_number(w, PURPOSE, use->operation);
    warprsa_protobuf_put_number(w, PADDING, use->padding);
    warprsa_protobuf_put_number(w, DIGEST, use->digest);
    warprsa_protobuf_put_number(w, MGF1_DIGEST, use->mgf1_digest);
    warprsa_protobuf_put_number(w, SALT_BYTES, zigzag(use->salt_bytes));
    if (use->label_bytes > 0)
        warprsa_protobuf_put_bytes(w, LABEL, use->label, use->label_bytes);
    warprsa_protobuf_put_number(w, TLS_CLIENT_VERSION, use->tls_client_version);
    warprsa_protobuf_put_number(w, TLS_ALTERNATIVE_VERSION,
                                use->tls_alternative_version);
}
