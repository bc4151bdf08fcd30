/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * References: what programs have of a key that warprsad holds. A reference has
 * the public key and the key's name, and maybe the socket of its warprsad. It
 * is no secret. In DER:
 *
 *   KeyReference ::= SEQUENCE {
 *       version               INTEGER (1),
 *       subjectPublicKeyInfo  SubjectPublicKeyInfo,   -- RFC 5280
 *       name                  UTF8String,
 *       socket            [0] IMPLICIT UTF8String OPTIONAL }
 *
 * and in PEM (RFC 7468) with the label WARPRSA_REFERENCE_LABEL. One reference
 * has one encoding: whatever else stands for the same is refused.
 */
#ifndef WARPRSA_BATCHING_VAULT_WIRE_REFERENCE_H
#define WARPRSA_BATCHING_VAULT_WIRE_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/vault/wire/key_name.h"

#define WARPRSA_REFERENCE_LABEL "WARPRSA KEY REFERENCE"

enum {
    WARPRSA_REFERENCE_SOCKET_SIZE = 108, /* sun_path, with its zero */
    /* RSA-16384 with a public exponent of 64 bits and the parameters of
     * RSA-PSS needs 2200 bytes. */
    WARPRSA_REFERENCE_SPKI_MAX = 2560,
    WARPRSA_REFERENCE_DER_MAX = 2816,
    WARPRSA_REFERENCE_PEM_MAX = 4096,
};

typedef struct warprsa_reference {
    char name[WARPRSA_KEY_NAME_SIZE];
    char socket[WARPRSA_REFERENCE_SOCKET_SIZE]; /* empty: not given */
    size_t spki_bytes;
    uint8_t spki[WARPRSA_REFERENCE_SPKI_MAX]; /* DER */
} warprsa_reference;

/*
 * Reads a reference. Returns NULL, or what is wrong, in a few English words.
 * The SubjectPublicKeyInfo is looked at only so far as that it is one SEQUENCE.
 * Reading PEM allows white space at the ends of lines, and nothing before or
 * after the two lines with the label. Any thread.
 */
const char *warprsa_reference_read(warprsa_reference *out, const uint8_t *der,
                                   size_t bytes);
const char *warprsa_reference_read_pem(warprsa_reference *out, const char *text,
                                       size_t length);

/* Whether a reference can name this socket: its path begins at the root and has
 * characters of printable ASCII alone, so that a line of a log can show it. Any
 * thread. */
bool warprsa_reference_socket_is_valid(const char *path);

/*
 * Writes a reference. Returns how many bytes were written, not counting the
 * zero that ends PEM; 0: the reference is not one that can be read, or `room`
 * is too little. WARPRSA_REFERENCE_DER_MAX and WARPRSA_REFERENCE_PEM_MAX always
 * suffice. Any thread.
 */
size_t warprsa_reference_write(const warprsa_reference *reference, uint8_t *der,
                               size_t room);
size_t warprsa_reference_write_pem(const warprsa_reference *reference,
                                   char *text, size_t room);

#endif
