/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A use of a vault key: one private operation that a client asks of a key that
 * warprsad holds, with the padding that the daemon adds or removes.
 *
 * It is plain data of a fixed size, without pointers, and may lie in shared
 * memory. The daemon copies it from there once, and looks at the copy alone:
 * first warprsa_key_use_fault(), which leaves no field unchecked, then the
 * rules of the key.
 *
 * What goes with a use, `input`:
 *   SIGN PKCS1     what RFC 8017, 9.2 calls T: the DigestInfo of `digest`; of
 *                  MD5_SHA1 the 36 bytes alone; of NONE any bytes
 *   SIGN PSS       the hash, as long as `digest` makes it
 *   SIGN NONE      a number as long as the modulus, and below it
 *   DECRYPT        a number as long as the modulus
 * What comes back: of SIGN a number as long as the modulus; of DECRYPT a
 * message of 0 bytes up to the modulus' length; of DECRYPT TLS the pre-master
 * secret, WARPRSA_TLS_SECRET_BYTES, always.
 */
#ifndef WARPRSA_BATCHING_VAULT_WIRE_KEY_USE_H
#define WARPRSA_BATCHING_VAULT_WIRE_KEY_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* The vault has keys that no engine takes: of RSA-16384. */
    WARPRSA_VAULT_MODULUS_BYTES_MAX = 2048,
    /* SubjectPublicKeyInfo (DER) of RSA-16384 with parameters of RSA-PSS. Of
     * long keys e can't be as long as n. */
    WARPRSA_KEY_SPKI_DER_MAX = 2304,
    WARPRSA_USE_LABEL_BYTES_MAX = 256,
    WARPRSA_USE_DIGEST_BYTES_MAX = 64,
    WARPRSA_TLS_SECRET_BYTES = 48, /* RFC 5246, 7.4.7.1 */
    WARPRSA_USE_ERRORS_MAX = 4,
};

typedef enum warprsa_use_operation {
    WARPRSA_USE_SIGN = 1,
    WARPRSA_USE_DECRYPT,
    WARPRSA_USE_OPERATIONS
} warprsa_use_operation;

typedef enum warprsa_use_padding {
    WARPRSA_PADDING_NONE = 1, /* the client pads */
    WARPRSA_PADDING_PKCS1,    /* RFC 8017, 8.2 and 7.2 */
    WARPRSA_PADDING_PSS,      /* RFC 8017, 8.1; signatures alone */
    WARPRSA_PADDING_OAEP,     /* RFC 8017, 7.1; decryption alone */
    WARPRSA_PADDING_TLS,      /* as PKCS1, of a TLS pre-master secret: what is
                                 not one becomes a random secret. Decryption
                                 alone. */
    WARPRSA_USE_PADDINGS
} warprsa_use_padding;

typedef enum warprsa_use_digest {
    WARPRSA_DIGEST_NONE = 0, /* none is named */
    WARPRSA_DIGEST_MD5,
    WARPRSA_DIGEST_SHA1,
    WARPRSA_DIGEST_MD5_SHA1, /* signatures of TLS before 1.2 */
    WARPRSA_DIGEST_RIPEMD160,
    WARPRSA_DIGEST_SHA224,
    WARPRSA_DIGEST_SHA256,
    WARPRSA_DIGEST_SHA384,
    WARPRSA_DIGEST_SHA512,
    WARPRSA_DIGEST_SHA512_224,
    WARPRSA_DIGEST_SHA512_256,
    WARPRSA_DIGEST_SHA3_224,
    WARPRSA_DIGEST_SHA3_256,
    WARPRSA_DIGEST_SHA3_384,
    WARPRSA_DIGEST_SHA3_512,
    WARPRSA_DIGEST_BLAKE2S256, /* from here on for OAEP alone */
    WARPRSA_DIGEST_BLAKE2B512,
    WARPRSA_DIGEST_SM3,
    WARPRSA_DIGEST_SHAKE128,
    WARPRSA_DIGEST_SHAKE256,
    WARPRSA_USE_DIGESTS
} warprsa_use_digest;

/* Lengths of a PSS salt that are not numbers of bytes; libcrypto's values. */
enum {
    WARPRSA_SALT_DIGEST = -1,
    WARPRSA_SALT_AUTO = -2, /* when signing, the same as MAX */
    WARPRSA_SALT_MAX = -3,
    WARPRSA_SALT_AUTO_DIGEST_MAX = -4, /* MAX, but no more than DIGEST */
};

/* Fields that the operation and the padding do not need are 0. */
typedef struct warprsa_key_use {
    uint8_t operation;           /* warprsa_use_operation */
    uint8_t padding;             /* warprsa_use_padding */
    uint8_t digest;              /* warprsa_use_digest: SIGN PKCS1, PSS and
                                        OAEP */
    uint8_t mgf1_digest;         /* of PSS and OAEP */
    int32_t salt_bytes;          /* of PSS: a length, or WARPRSA_SALT_... */
    uint16_t input_bytes;        /* of the input that goes with this */
    uint16_t tls_client_version; /* of TLS: what its ClientHello said */
    uint16_t tls_alternative_version; /* of TLS: 0, or one taken as well */
    uint16_t label_bytes;             /* of OAEP */
    uint8_t label[WARPRSA_USE_LABEL_BYTES_MAX]; /* zeros after label_bytes */
} warprsa_key_use;

/* Why libcrypto refused a use: the codes that it put on its error queue, the
 * oldest first, and then zeros. The client raises them again. They are numbers
 * of libcrypto's interface, ERR_PACK(), the same in each of its versions. */
typedef struct warprsa_use_errors {
    uint32_t codes[WARPRSA_USE_ERRORS_MAX];
} warprsa_use_errors;

/*
 * What is wrong with a use of a key whose modulus has so many bytes, in a few
 * English words for a log; NULL: nothing. A use without a fault has a known
 * operation, padding and digests that go together, lengths within their bounds,
 * and zeros where nothing is needed. Whether the input is what the digest
 * promises is for warprsa_padding_encode() to find. Any thread.
 */
const char *warprsa_key_use_fault(const warprsa_key_use *use,
                                  unsigned modulus_bytes);

/* Whether anybody can check the answer to a use by the public key: of SIGN, and
 * of DECRYPT NONE, whose answer raised to e is the input. A padding that was
 * removed can't be put back, as it has random bytes. The use has no fault. Any
 * thread. */
bool warprsa_use_is_checkable(const warprsa_key_use *use);

/* The words of keys.conf and of log lines. Static storage; "?" for a number
 * that stands for none. Digests have names that libcrypto knows, too. */
const char *warprsa_use_operation_name(unsigned operation);
const char *warprsa_use_padding_name(unsigned padding);
const char *warprsa_use_digest_name(unsigned digest);

/* The number of the word of `length` bytes; -1: it names none. */
int warprsa_use_operation_named(const char *word, size_t length);
int warprsa_use_padding_named(const char *word, size_t length);
int warprsa_use_digest_named(const char *word, size_t length);

/*
 * The digests that a use of this operation and padding may name, a bit each;
 * bit WARPRSA_DIGEST_NONE: it may name none. 0: the padding has no use for a
 * digest, or the operation does not have it. Both are known ones. Any thread.
 */
uint32_t warprsa_use_digests(unsigned operation, unsigned padding);

/* Bytes of a hash; 0 for NONE. The digest is a known one. */
unsigned warprsa_use_digest_bytes(unsigned digest);

#endif
