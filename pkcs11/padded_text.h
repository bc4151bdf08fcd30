/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the information of PKCS #11 is made of: texts of fixed length, padded
 * with blanks and without a zero, and the version of the module.
 */
#ifndef WARPRSA_PKCS11_PADDED_TEXT_H
#define WARPRSA_PKCS11_PADDED_TEXT_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "pkcs11/cryptoki.h"

#define WARPRSA_MANUFACTURER "warprsa"

static inline void warprsa_pad(CK_UTF8CHAR *to, size_t size, const char *text)
{
    const size_t length = strlen(text);

    memset(to, ' ', size);
    memcpy(to, text, length < size ? length : size);
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
