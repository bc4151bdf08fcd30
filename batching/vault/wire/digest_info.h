/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * DigestInfo (RFC 8017, 9.2): what is signed with PKCS #1 v1.5 padding names
 * the digest that made it. The rules of a vault key are by digest, so programs
 * name it to the daemon.
 */
#ifndef WARPRSA_BATCHING_VAULT_WIRE_DIGEST_INFO_H
#define WARPRSA_BATCHING_VAULT_WIRE_DIGEST_INFO_H

#include <stddef.h>
#include <stdint.h>

enum {
    WARPRSA_DIGEST_INFO_MAX = 19, /* bytes before a hash */
};

/* Writes what stands before a hash of this warprsa_use_digest, and returns its
 * length; 0: it has no DigestInfo here. Any thread. */
size_t warprsa_digest_info_prefix(unsigned digest,
                                  uint8_t prefix[WARPRSA_DIGEST_INFO_MAX]);

/* The digest whose DigestInfo these bytes are; WARPRSA_DIGEST_NONE: of none.
 * Any thread. */
unsigned warprsa_digest_info_of(const uint8_t *data, size_t bytes);

#endif
