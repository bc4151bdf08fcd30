/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * DigestInfo by digest, and back.
 */
#include "batching/vault/wire/digest_info.h"

#include <string.h>

#include "batching/vault/wire/key_use.h"

/* The DER of an object identifier, without tag and length. */
typedef struct identifier {
    uint8_t bytes, der[9];
} identifier;

/* NIST's hash functions are 2.16.840.1.101.3.4.2.N. */
#define NIST(n)                                                                \
    {                                                                          \
        9,                                                                     \
        {                                                                      \
            0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, n                  \
        }                                                                      \
    }

static const identifier identifiers[WARPRSA_USE_DIGESTS] = {
    [WARPRSA_DIGEST_MD5] = {8,
                            {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x05}},
    [WARPRSA_DIGEST_SHA1] = {5, {0x2b, 0x0e, 0x03, 0x02, 0x1a}},
    [WARPRSA_DIGEST_RIPEMD160] = {5, {0x2b, 0x24, 0x03, 0x02, 0x01}},
    [WARPRSA_DIGEST_SHA224] = NIST(4),
    [WARPRSA_DIGEST_SHA256] = NIST(1),
    [WARPRSA_DIGEST_SHA384] = NIST(2),
    [WARPRSA_DIGEST_SHA512] = NIST(3),
    [WARPRSA_DIGEST_SHA512_224] = NIST(5),
    [WARPRSA_DIGEST_SHA512_256] = NIST(6),
    [WARPRSA_DIGEST_SHA3_224] = NIST(7),
    [WARPRSA_DIGEST_SHA3_256] = NIST(8),
    [WARPRSA_DIGEST_SHA3_384] = NIST(9),
    [WARPRSA_DIGEST_SHA3_512] = NIST(10),
};

/*
 * SEQUENCE { SEQUENCE { OBJECT IDENTIFIER, NULL }, OCTET STRING }. No length is
 * more than 127, so each takes one byte: the longest is 2 + 17 + 64.
 */
size_t warprsa_digest_info_prefix(unsigned digest,
                                  uint8_t prefix[WARPRSA_DIGEST_INFO_MAX])
{
    const identifier *id = &identifiers[digest];
    const uint8_t hash_bytes = (uint8_t)warprsa_use_digest_bytes(digest);
    const uint8_t id_bytes = id->bytes;
    const uint8_t begin[] = {0x30, (uint8_t)(id_bytes + 8 + hash_bytes),
                             0x30, (uint8_t)(id_bytes + 4),
                             0x06, id_bytes};
    const uint8_t end[] = {0x05, 0x00, 0x04, hash_bytes};

    if (id_bytes == 0)
        return 0;
    memcpy(prefix, begin, sizeof(begin));
    memcpy(prefix + sizeof(begin), id->der, id_bytes);
    memcpy(prefix + sizeof(begin) + id_bytes, end, sizeof(end));
    return sizeof(begin) + id_bytes + sizeof(end);
}

unsigned warprsa_digest_info_of(const uint8_t *data, size_t bytes)
{
    uint8_t prefix[WARPRSA_DIGEST_INFO_MAX];

    for (unsigned i = WARPRSA_DIGEST_NONE + 1; i < WARPRSA_USE_DIGESTS; i++) {
        const size_t length = warprsa_digest_info_prefix(i, prefix);

        if (length > 0 && bytes == length + warprsa_use_digest_bytes(i) &&
            memcmp(data, prefix, length) == 0)
            return i;
    }
    return WARPRSA_DIGEST_NONE;
}
