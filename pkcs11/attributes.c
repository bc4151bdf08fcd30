/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attributes by class of object, and what programs do with them.
 */
#include "pkcs11/attributes.h"

#include <stdio.h>
#include <string.h>

/* ---- kinds of values ---- */

static CK_RV bytes(warprsa_attribute *out, const void *data, size_t count)
{
    out->data = data;
    out->bytes = count;
    return CKR_OK;
}

static CK_RV number(warprsa_attribute *out, CK_ULONG value)
{
    out->scratch.number = value;
    return bytes(out, &out->scratch.number, sizeof(out->scratch.number));
}

static CK_RV truth(warprsa_attribute *out, bool value)
{
    out->scratch.truth = value ? CK_TRUE : CK_FALSE;
    return bytes(out, &out->scratch.truth, sizeof(out->scratch.truth));
}

static CK_RV der(warprsa_attribute *out, const warprsa_bytes *value)
{
    return bytes(out, value->data, value->count);
}

static CK_RV none(warprsa_attribute *out)
{
    return bytes(out, NULL, 0);
}

static CK_RV date(warprsa_attribute *out, const CK_DATE *value)
{
    return value->year[0] == 0 ? none(out) : bytes(out, value, sizeof(*value));
}

/* What differs between all objects of the token: identity and view. */
static CK_RV unique_id(warprsa_attribute *out, const warprsa_entry *entry,
                       warprsa_object_kind kind)
{
    char *text = out->scratch.text;

    for (unsigned i = 0; i < WARPRSA_ENTRY_DIGEST_BYTES; i++)
        snprintf(text + (size_t)2 * i, 3, "%02x", entry->identity[i]);
    text[2 * WARPRSA_ENTRY_DIGEST_BYTES] = (char)('0' + kind);
    return bytes(out, text, (size_t)2 * WARPRSA_ENTRY_DIGEST_BYTES + 1);
}

/* ---- attributes by class ---- */

/* Table 13 and the like: of all objects in storage. */
static CK_RV storage(const warprsa_entry *entry, warprsa_object_kind kind,
                     CK_ATTRIBUTE_TYPE type, warprsa_attribute *out)
{
    static const CK_OBJECT_CLASS classes[WARPRSA_OBJECT_KINDS] = {
        [WARPRSA_OBJECT_PRIVATE] = CKO_PRIVATE_KEY,
        [WARPRSA_OBJECT_PUBLIC] = CKO_PUBLIC_KEY,
        [WARPRSA_OBJECT_CERTIFICATE] = CKO_CERTIFICATE,
    };

    switch (type) {
    case CKA_CLASS:
        return number(out, classes[kind]);
    case CKA_TOKEN:
        return truth(out, true);
    case CKA_PRIVATE: /* nobody needs to log in to see it */
    case CKA_MODIFIABLE:
    case CKA_COPYABLE:
    case CKA_DESTROYABLE:
        return truth(out, false);
    case CKA_LABEL:
        return bytes(out, entry->label, strlen(entry->label));
    case CKA_UNIQUE_ID:
        return unique_id(out, entry, kind);
    case CKA_ID:
        return bytes(out, entry->id, sizeof(entry->id));
    case CKA_SUBJECT:
        return der(out, &entry->subject);
    case CKA_PUBLIC_KEY_INFO:
        return der(out, &entry->spki);
    default:
        return CKR_ATTRIBUTE_TYPE_INVALID;
    }
}

/* Of both keys. The key was made elsewhere, by a way that the token does not
 * know: it is not local, and names no mechanism. */
static CK_RV key(const warprsa_entry *entry, CK_ATTRIBUTE_TYPE type,
                 warprsa_attribute *out)
{
    switch (type) {
    case CKA_KEY_TYPE:
        return number(out, CKK_RSA);
    case CKA_START_DATE:
    case CKA_END_DATE:
        return none(out);
    case CKA_DERIVE:
    case CKA_LOCAL:
        return truth(out, false);
    case CKA_KEY_GEN_MECHANISM:
        return number(out, CK_UNAVAILABLE_INFORMATION);
    case CKA_MODULUS:
        return der(out, &entry->modulus);
    case CKA_PUBLIC_EXPONENT:
        return der(out, &entry->exponent);
    default:
        return CKR_ATTRIBUTE_TYPE_INVALID;
    }
}

static CK_RV mechanisms(warprsa_attribute *out,
                        const warprsa_mechanism_list *list)
{
    return bytes(out, list->types, list->count * sizeof(list->types[0]));
}

static CK_RV private_key(const warprsa_entry *entry, CK_ATTRIBUTE_TYPE type,
                         warprsa_attribute *out)
{
    switch (type) {
    case CKA_SENSITIVE:
    case CKA_ALWAYS_SENSITIVE:
    case CKA_NEVER_EXTRACTABLE:
        return truth(out, true);
    case CKA_EXTRACTABLE:
    case CKA_UNWRAP:
    case CKA_WRAP_WITH_TRUSTED:
    case CKA_ALWAYS_AUTHENTICATE:
        return truth(out, false);
    case CKA_SIGN:
        return truth(out, (entry->allowed & CKF_SIGN) != 0);
    case CKA_SIGN_RECOVER:
        return truth(out, (entry->allowed & CKF_SIGN_RECOVER) != 0);
    case CKA_DECRYPT:
        return truth(out, (entry->allowed & CKF_DECRYPT) != 0);
    case CKA_ALLOWED_MECHANISMS:
        return mechanisms(out, &entry->private_mechanisms);
    case CKA_PRIVATE_EXPONENT:
    case CKA_PRIME_1:
    case CKA_PRIME_2:
    case CKA_EXPONENT_1:
    case CKA_EXPONENT_2:
    case CKA_COEFFICIENT:
        return CKR_ATTRIBUTE_SENSITIVE;
    default:
        return key(entry, type, out);
    }
}

static CK_RV public_key(const warprsa_entry *entry, CK_ATTRIBUTE_TYPE type,
                        warprsa_attribute *out)
{
    switch (type) {
    case CKA_VERIFY:
        return truth(out, true);
    case CKA_VERIFY_RECOVER: /* RSA-PSS recovers and encrypts nothing */
    case CKA_ENCRYPT:
        return truth(out, !entry->pss);
    case CKA_WRAP:
    case CKA_TRUSTED:
        return truth(out, false);
    case CKA_MODULUS_BITS:
        return number(out, entry->modulus_bits);
    case CKA_ALLOWED_MECHANISMS:
        return mechanisms(out, &entry->public_mechanisms);
    default:
        return key(entry, type, out);
    }
}

/* CKA_CERTIFICATE_CATEGORY: an authority is 2, all else 0 (unspecified). */
static CK_RV certificate(const warprsa_entry *entry, CK_ATTRIBUTE_TYPE type,
                         warprsa_attribute *out)
{
    const warprsa_certificate *of = &entry->certificate;

    switch (type) {
    case CKA_CERTIFICATE_TYPE:
        return number(out, CKC_X_509);
    case CKA_TRUSTED:
        return truth(out, false);
    case CKA_CERTIFICATE_CATEGORY:
        return number(out, of->authority ? 2 : 0);
    case CKA_CHECK_VALUE:
        return bytes(out, of->check_value, sizeof(of->check_value));
    case CKA_START_DATE:
        return date(out, &of->start);
    case CKA_END_DATE:
        return date(out, &of->end);
    case CKA_ISSUER:
        return der(out, &of->issuer);
    case CKA_SERIAL_NUMBER:
        return der(out, &of->serial);
    case CKA_VALUE:
        return der(out, &of->value);
    case CKA_URL:
    case CKA_HASH_OF_SUBJECT_PUBLIC_KEY:
    case CKA_HASH_OF_ISSUER_PUBLIC_KEY:
        return none(out);
    case CKA_JAVA_MIDP_SECURITY_DOMAIN: /* unspecified */
        return number(out, 0);
    case CKA_NAME_HASH_ALGORITHM:
        return number(out, CKM_SHA_1);
    default:
        return CKR_ATTRIBUTE_TYPE_INVALID;
    }
}

CK_RV warprsa_attribute_get(const warprsa_entry *entry,
                            warprsa_object_kind kind, CK_ATTRIBUTE_TYPE type,
                            warprsa_attribute *out)
{
    CK_RV rv = storage(entry, kind, type, out);

    if (rv != CKR_ATTRIBUTE_TYPE_INVALID)
        return rv;
    if (kind == WARPRSA_OBJECT_PRIVATE)
        return private_key(entry, type, out);
    return kind == WARPRSA_OBJECT_PUBLIC ? public_key(entry, type, out)
                                         : certificate(entry, type, out);
}

/* ---- what programs do with them ---- */

static CK_RV read_one(const warprsa_entry *entry, warprsa_object_kind kind,
                      CK_ATTRIBUTE *to)
{
    warprsa_attribute value;
    CK_RV rv = warprsa_attribute_get(entry, kind, to->type, &value);

    if (rv == CKR_OK && to->pValue != NULL) {
        if (to->ulValueLen < value.bytes)
            rv = CKR_BUFFER_TOO_SMALL;
        else if (value.bytes > 0)
            memcpy(to->pValue, value.data, value.bytes);
    }
    to->ulValueLen = rv == CKR_OK ? value.bytes : CK_UNAVAILABLE_INFORMATION;
    return rv;
}

CK_RV warprsa_attributes_read(const warprsa_entry *entry,
                              warprsa_object_kind kind, CK_ATTRIBUTE *template,
                              CK_ULONG count)
{
    CK_RV all = CKR_OK;

    for (CK_ULONG i = 0; i < count; i++) {
        CK_RV rv = read_one(entry, kind, &template[i]);

        if (rv != CKR_OK)
            all = rv;
    }
    return all;
}

bool warprsa_attributes_match(const warprsa_entry *entry,
                              warprsa_object_kind kind,
                              const CK_ATTRIBUTE *template, CK_ULONG count)
{
    for (CK_ULONG i = 0; i < count; i++) {
        warprsa_attribute value;

        if (warprsa_attribute_get(entry, kind, template[i].type, &value) !=
                CKR_OK ||
            value.bytes != template[i].ulValueLen ||
            (value.bytes > 0 &&
             memcmp(value.data, template[i].pValue, value.bytes) != 0))
            return false;
    }
    return true;
}
