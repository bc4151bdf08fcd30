/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The attributes of objects, by the tables of PKCS #11 3.1, section 4.
 */
#ifndef WARPRSA_PKCS11_ATTRIBUTES_H
#define WARPRSA_PKCS11_ATTRIBUTES_H

#include <stdbool.h>

#include "pkcs11/entry.h"

/* A value: `bytes` at `data`, which is in the entry, a constant, or `scratch`.
 */
typedef struct warprsa_attribute {
    const void *data;
    CK_ULONG bytes;
    union {
        CK_BBOOL truth;
        CK_ULONG number;
        char text[2 * WARPRSA_ENTRY_DIGEST_BYTES + 2];
    } scratch;
} warprsa_attribute;

/* Finds an attribute of an object. CKR_ATTRIBUTE_SENSITIVE: a private number;
 * CKR_ATTRIBUTE_TYPE_INVALID: such an object has no such attribute. The value
 * lives as long as both the entry and *out. Any thread. */
CK_RV warprsa_attribute_get(const warprsa_entry *entry,
                            warprsa_object_kind kind, CK_ATTRIBUTE_TYPE type,
                            warprsa_attribute *out);

/* Does what C_GetAttributeValue promises: fills in what it can, sets the length
 * of all else to CK_UNAVAILABLE_INFORMATION, and returns the error of one of
 * those. */
CK_RV warprsa_attributes_read(const warprsa_entry *entry,
                              warprsa_object_kind kind, CK_ATTRIBUTE *template,
                              CK_ULONG count);

/* Whether an object has all these values. */
bool warprsa_attributes_match(const warprsa_entry *entry,
                              warprsa_object_kind kind,
                              const CK_ATTRIBUTE *template, CK_ULONG count);

#endif
