/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the information of PKCS #11 is made of: texts in UTF-8, those of a fixed
 * length padded with blanks and without a zero, and the version of the module.
 */
#ifndef WARPRSA_PKCS11_PADDED_TEXT_H
#define WARPRSA_PKCS11_PADDED_TEXT_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "pkcs11/cryptoki.h"

#define WARPRSA_MANUFACTURER "warprsa"

/* How many bytes at the start of a text in UTF-8 are whole characters and have
 * room in `size` bytes. All bytes of a character but its first are 10xxxxxx. */
static inline size_t warprsa_whole_characters(const char *text, size_t size)
{
    size_t whole = 0;

    for (size_t i = 0; i <= size; i++) {
        if ((text[i] & 0xc0) != 0x80)
            whole = i; /* here a character begins, or the text ends */
        if (text[i] == '\0')
            break;
    }
    return whole;
}

static inline void warprsa_pad(CK_UTF8CHAR *to, size_t size, const char *text)
{
    memset(to, ' ', size);
    memcpy(to, text, warprsa_whole_characters(text, size));
}

/* Fills an array. */
#define WARPRSA_PAD(array, text) warprsa_pad((array), sizeof(array), (text))

/* Major and minor of WARPRSA_VERSION. */
static inline CK_VERSION warprsa_padded_version(void)
{
    unsigned major = 0, minor = 0;

    (void)sscanf(WARPRSA_VERSION, "%u.%u", &major, &minor);
    return (CK_VERSION){(CK_BYTE)major, (CK_BYTE)minor};
}

#endif
