/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of mechanisms, and reading their parameters.
 */
#include "pkcs11/mechanisms.h"

#include <string.h>

#define SIGNS    (CKF_SIGN | CKF_VERIFY)
#define RECOVERS (CKF_SIGN_RECOVER | CKF_VERIFY_RECOVER)
#define CRYPTS   (CKF_ENCRYPT | CKF_DECRYPT)

/* A digest, and the two signatures with it. */
#define DIGEST(mechanism, pkcs, pss, digest)                                   \
    {mechanism, CKF_DIGEST, 0, digest},                                        \
        {pkcs, SIGNS, WARPRSA_PADDING_PKCS1, digest},                          \
    {                                                                          \
        pss, SIGNS, WARPRSA_PADDING_PSS, digest                                \
    }

const warprsa_mechanism warprsa_mechanisms[] = {
    {CKM_RSA_PKCS, SIGNS | RECOVERS | CRYPTS, WARPRSA_PADDING_PKCS1,
     WARPRSA_DIGEST_NONE},
    {CKM_RSA_X_509, SIGNS | RECOVERS | CRYPTS, WARPRSA_PADDING_NONE,
     WARPRSA_DIGEST_NONE},
    {CKM_RSA_PKCS_PSS, SIGNS, WARPRSA_PADDING_PSS, WARPRSA_DIGEST_NONE},
    {CKM_RSA_PKCS_OAEP, CRYPTS, WARPRSA_PADDING_OAEP, WARPRSA_DIGEST_NONE},
    DIGEST(CKM_SHA_1, CKM_SHA1_RSA_PKCS, CKM_SHA1_RSA_PKCS_PSS,
           WARPRSA_DIGEST_SHA1),
    DIGEST(CKM_SHA224, CKM_SHA224_RSA_PKCS, CKM_SHA224_RSA_PKCS_PSS,
           WARPRSA_DIGEST_SHA224),
    DIGEST(CKM_SHA256, CKM_SHA256_RSA_PKCS, CKM_SHA256_RSA_PKCS_PSS,
           WARPRSA_DIGEST_SHA256),
    DIGEST(CKM_SHA384, CKM_SHA384_RSA_PKCS, CKM_SHA384_RSA_PKCS_PSS,
           WARPRSA_DIGEST_SHA384),
    DIGEST(CKM_SHA512, CKM_SHA512_RSA_PKCS, CKM_SHA512_RSA_PKCS_PSS,
           WARPRSA_DIGEST_SHA512),
    DIGEST(CKM_SHA3_224, CKM_SHA3_224_RSA_PKCS, CKM_SHA3_224_RSA_PKCS_PSS,
           WARPRSA_DIGEST_SHA3_224),
    DIGEST(CKM_SHA3_256, CKM_SHA3_256_RSA_PKCS, CKM_SHA3_256_RSA_PKCS_PSS,
           WARPRSA_DIGEST_SHA3_256),
    DIGEST(CKM_SHA3_384, CKM_SHA3_384_RSA_PKCS, CKM_SHA3_384_RSA_PKCS_PSS,
           WARPRSA_DIGEST_SHA3_384),
    DIGEST(CKM_SHA3_512, CKM_SHA3_512_RSA_PKCS, CKM_SHA3_512_RSA_PKCS_PSS,
           WARPRSA_DIGEST_SHA3_512),
};
const unsigned warprsa_mechanism_count =
    sizeof(warprsa_mechanisms) / sizeof(warprsa_mechanisms[0]);
_Static_assert(sizeof(warprsa_mechanisms) / sizeof(warprsa_mechanisms[0]) <=
                   WARPRSA_MECHANISMS_MAX,
               "lists of mechanisms have room for all");

static const struct mask {
    CK_RSA_PKCS_MGF_TYPE type;
    uint8_t digest;
} masks[] = {
    {CKG_MGF1_SHA1, WARPRSA_DIGEST_SHA1},
    {CKG_MGF1_SHA224, WARPRSA_DIGEST_SHA224},
    {CKG_MGF1_SHA256, WARPRSA_DIGEST_SHA256},
    {CKG_MGF1_SHA384, WARPRSA_DIGEST_SHA384},
    {CKG_MGF1_SHA512, WARPRSA_DIGEST_SHA512},
    {CKG_MGF1_SHA3_224, WARPRSA_DIGEST_SHA3_224},
    {CKG_MGF1_SHA3_256, WARPRSA_DIGEST_SHA3_256},
    {CKG_MGF1_SHA3_384, WARPRSA_DIGEST_SHA3_384},
    {CKG_MGF1_SHA3_512, WARPRSA_DIGEST_SHA3_512},
};

const warprsa_mechanism *warprsa_mechanism_find(CK_MECHANISM_TYPE type)
{
    for (unsigned i = 0; i < warprsa_mechanism_count; i++)
        if (warprsa_mechanisms[i].type == type)
            return &warprsa_mechanisms[i];
    return NULL;
}

/* Sets both digests of a parameter. False: the token has none of these. */
static bool set_digests(warprsa_key_use *use, CK_MECHANISM_TYPE hash,
                        CK_RSA_PKCS_MGF_TYPE mgf)
{
    const warprsa_mechanism *digest = warprsa_mechanism_find(hash);

    if (digest == NULL || (digest->flags & CKF_DIGEST) == 0)
        return false;
    use->digest = digest->digest;
    for (unsigned i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
        if (masks[i].type == mgf)
            use->mgf1_digest = masks[i].digest;
    return use->mgf1_digest != WARPRSA_DIGEST_NONE;
}

static bool read_pss(const CK_MECHANISM *given,
                     const warprsa_mechanism *mechanism, warprsa_key_use *use)
{
    CK_RSA_PKCS_PSS_PARAMS parameter;

    if (given->pParameter == NULL || given->ulParameterLen != sizeof(parameter))
        return false;
    memcpy(&parameter, given->pParameter, sizeof(parameter));
    if (!set_digests(use, parameter.hashAlg, parameter.mgf) ||
        (mechanism->digest != WARPRSA_DIGEST_NONE &&
         mechanism->digest != use->digest) ||
        parameter.sLen > WARPRSA_VAULT_MODULUS_BYTES_MAX)
        return false;
    use->salt_bytes = (int32_t)parameter.sLen;
    return true;
}

static bool read_oaep(const CK_MECHANISM *given, warprsa_key_use *use)
{
    CK_RSA_PKCS_OAEP_PARAMS parameter;

    if (given->pParameter == NULL || given->ulParameterLen != sizeof(parameter))
        return false;
    memcpy(&parameter, given->pParameter, sizeof(parameter));
    /* No source is no label, as some programs say it. */
    if (!set_digests(use, parameter.hashAlg, parameter.mgf) ||
        parameter.source > CKZ_DATA_SPECIFIED ||
        parameter.ulSourceDataLen > sizeof(use->label) ||
        (parameter.ulSourceDataLen > 0 &&
         (parameter.source != CKZ_DATA_SPECIFIED ||
          parameter.pSourceData == NULL)))
        return false;
    use->label_bytes = (uint16_t)parameter.ulSourceDataLen;
    if (use->label_bytes > 0)
        memcpy(use->label, parameter.pSourceData, use->label_bytes);
    return true;
}

CK_RV warprsa_mechanism_read(const CK_MECHANISM *given, CK_FLAGS wanted,
                             const warprsa_mechanism **found,
                             warprsa_key_use *use)
{
    const warprsa_mechanism *mechanism =
        warprsa_mechanism_find(given->mechanism);
    bool ok = false;

    if (mechanism == NULL || (mechanism->flags & wanted) == 0)
        return CKR_MECHANISM_INVALID;
    *found = mechanism;
    *use = (warprsa_key_use){
        .padding = mechanism->padding,
        .digest = mechanism->digest,
    };
    if (mechanism->padding == WARPRSA_PADDING_PSS)
        ok = read_pss(given, mechanism, use);
    else if (mechanism->padding == WARPRSA_PADDING_OAEP)
        ok = read_oaep(given, use);
    else
        ok = given->ulParameterLen == 0;
    return ok ? CKR_OK : CKR_MECHANISM_PARAM_INVALID;
}

bool warprsa_mechanism_is_allowed(const warprsa_mechanism *mechanism,
                                  CK_FLAGS flag,
                                  const warprsa_key_rights *rights)
{
    const unsigned operation =
        flag == CKF_DECRYPT ? WARPRSA_USE_DECRYPT : WARPRSA_USE_SIGN;
    const unsigned padding = mechanism->padding;
    uint32_t digests = 0;

    if ((mechanism->flags & flag) == 0 || padding == 0 ||
        (rights->operations >> operation & 1) == 0 ||
        (rights->paddings[operation] >> padding & 1) == 0)
        return false;
    /* The padding has no use for a digest. */
    if (padding == WARPRSA_PADDING_NONE ||
        (operation == WARPRSA_USE_DECRYPT && padding == WARPRSA_PADDING_PKCS1))
        return true;
    digests = rights->digests[operation][padding];
    return mechanism->digest == WARPRSA_DIGEST_NONE
               ? digests != 0
               : (digests >> mechanism->digest & 1) != 0;
}
