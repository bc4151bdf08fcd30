/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Making an entry of what the daemon tells of a key.
 */
#include "pkcs11/entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "pkcs11/padded_text.h"

static const CK_FLAGS private_flags = CKF_SIGN | CKF_SIGN_RECOVER | CKF_DECRYPT;
static const CK_FLAGS public_flags =
    CKF_VERIFY | CKF_VERIFY_RECOVER | CKF_ENCRYPT;

/* ---- small parts ---- */

static bool copy(warprsa_bytes *to, const uint8_t *data, size_t count)
{
    to->data = malloc(count > 0 ? count : 1);
    if (to->data == NULL)
        return false;
    memcpy(to->data, data, count);
    to->count = count;
    return true;
}

/* Takes over what one of libcrypto's i2d functions has written to *der. */
static bool take(warprsa_bytes *to, int bytes, uint8_t **der)
{
    const bool ok = bytes > 0 && copy(to, *der, (size_t)bytes);

    OPENSSL_free(*der);
    *der = NULL;
    return ok;
}

static bool hash(const warprsa_crypto *crypto, unsigned digest,
                 const warprsa_bytes *of, uint8_t *out)
{
    return crypto->digests[digest] != NULL &&
           EVP_Digest(of->data, of->count, out, NULL, crypto->digests[digest],
                      NULL) == 1;
}

/* ---- certificates ---- */

static void set_date(CK_DATE *date, const ASN1_TIME *time)
{
    char text[64];
    struct tm tm;

    memset(date, 0, sizeof(*date));
    if (ASN1_TIME_to_tm(time, &tm) != 1 || tm.tm_year < 0 || tm.tm_year > 8099)
        return;
    snprintf(text, sizeof(text), "%04d%02d%02d", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday);
    memcpy(date, text, sizeof(*date));
}

static bool set_certificate(warprsa_entry *entry, const warprsa_crypto *crypto,
                            X509 *certificate)
{
    warprsa_certificate *to = &entry->certificate;
    uint8_t *der = NULL;
    uint8_t sha1[EVP_MAX_MD_SIZE];
    bool ok = take(&to->value, i2d_X509(certificate, &der), &der);

    ok = ok &&
         take(&entry->subject,
              i2d_X509_NAME(X509_get_subject_name(certificate), &der), &der);
    ok = ok &&
         take(&to->issuer,
              i2d_X509_NAME(X509_get_issuer_name(certificate), &der), &der);
    ok = ok && take(&to->serial,
                    i2d_ASN1_INTEGER(X509_get0_serialNumber(certificate), &der),
                    &der);
    if (!ok || !hash(crypto, WARPRSA_DIGEST_SHA1, &to->value, sha1))
        return false;
    memcpy(to->check_value, sha1, sizeof(to->check_value));
    set_date(&to->start, X509_get0_notBefore(certificate));
    set_date(&to->end, X509_get0_notAfter(certificate));
    to->authority = X509_check_ca(certificate) > 0;
    return true;
}

/* ---- keys ---- */

static bool set_number(warprsa_bytes *to, const EVP_PKEY *key, const char *name)
{
    BIGNUM *number = NULL;
    uint8_t *bytes = NULL;
    bool ok = EVP_PKEY_get_bn_param(key, name, &number) == 1;

    if (ok)
        bytes = malloc((size_t)BN_num_bytes(number) + 1);
    ok = ok && bytes != NULL;
    if (ok) {
        to->data = bytes;
        to->count = (size_t)BN_bn2bin(number, bytes);
    }
    BN_free(number);
    return ok;
}

/* Sets CKA_ID: the SHA-1 of the modulus, which NSS computes from a certificate
 * when it looks for the private key. Of other keys: of the whole public key. */
static bool set_id(warprsa_entry *entry, const warprsa_crypto *crypto,
                   const EVP_PKEY *key)
{
    const bool is_rsa =
        EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_is_a(key, "RSA-PSS");

    if (is_rsa && (!set_number(&entry->modulus, key, OSSL_PKEY_PARAM_RSA_N) ||
                   !set_number(&entry->exponent, key, OSSL_PKEY_PARAM_RSA_E)))
        return false;
    return hash(crypto, WARPRSA_DIGEST_SHA1,
                is_rsa ? &entry->modulus : &entry->spki, entry->id);
}

static void list_mechanisms(warprsa_entry *entry)
{
    for (unsigned i = 0; i < warprsa_mechanism_count; i++) {
        const warprsa_mechanism *mechanism = &warprsa_mechanisms[i];
        CK_FLAGS flag = 0, allowed = 0;

        for (flag = 1; flag <= CKF_VERIFY_RECOVER; flag <<= 1)
            if (warprsa_entry_allows(entry, mechanism, flag))
                allowed |= flag;
        if ((allowed & private_flags) != 0)
            entry->private_mechanisms.types[entry->private_mechanisms.count++] =
                mechanism->type;
        if ((allowed & public_flags) != 0)
            entry->public_mechanisms.types[entry->public_mechanisms.count++] =
                mechanism->type;
        entry->allowed |= allowed & private_flags;
    }
}

static bool set_key(warprsa_entry *entry, const warprsa_crypto *crypto,
                    const warprsa_key_told *told)
{
    const unsigned char *at = told->spki;

    entry->has_key = true;
    entry->rights = *told->rights;
    snprintf(entry->label, sizeof(entry->label), "%s", told->name);
    if (!copy(&entry->spki, told->spki, told->spki_bytes) ||
        !hash(crypto, WARPRSA_DIGEST_SHA256, &entry->spki, entry->spki_sha256))
        return false;
    memcpy(entry->identity, entry->spki_sha256, sizeof(entry->identity));
    entry->public =
        d2i_PUBKEY_ex(NULL, &at, (long)told->spki_bytes, crypto->libctx, NULL);
    if (entry->public == NULL || at != told->spki + told->spki_bytes ||
        !set_id(entry, crypto, entry->public))
        return false;
    entry->pss = EVP_PKEY_is_a(entry->public, "RSA-PSS");
    entry->modulus_bits = (unsigned)EVP_PKEY_get_bits(entry->public);
    entry->modulus_bytes = (unsigned)entry->modulus.count;
    if (entry->modulus_bits < WARPRSA_TOKEN_BITS_MIN ||
        entry->modulus_bytes > WARPRSA_VAULT_MODULUS_BYTES_MAX)
        return false;
    list_mechanisms(entry);
    return true;
}

static warprsa_entry *entry_new(void)
{
    warprsa_entry *entry = calloc(1, sizeof(*entry));

    if (entry != NULL)
        atomic_init(&entry->references, 1);
    return entry;
}

warprsa_entry *
warprsa_entry_of_key(const warprsa_crypto *crypto, const warprsa_key_told *told,
                     const uint8_t edition[WARPRSA_ENTRY_DIGEST_BYTES])
{
    warprsa_entry *entry = entry_new();

    if (entry == NULL)
        return NULL;
    memcpy(entry->edition, edition, sizeof(entry->edition));
    if (set_key(entry, crypto, told) &&
        (told->certificate == NULL ||
         set_certificate(entry, crypto, told->certificate)))
        return entry;
    ERR_clear_error();
    warprsa_entry_release(entry);
    return NULL;
}

/* Sets the label to a text in UTF-8, to as many of its characters as there is
 * room for. */
static void set_label_text(warprsa_entry *entry, const char *text)
{
    const size_t length =
        warprsa_whole_characters(text, sizeof(entry->label) - 1);

    memcpy(entry->label, text, length);
    entry->label[length] = '\0';
}

/* The label of an authority: its common name, or another part of its name. */
static void set_label(warprsa_entry *entry, X509 *certificate)
{
    X509_NAME *name = X509_get_subject_name(certificate);
    int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
    uint8_t *text = NULL;

    if (at < 0)
        at = X509_NAME_entry_count(name) - 1;
    if (at >= 0 &&
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(
                                       X509_NAME_get_entry(name, at))) >= 0)
        set_label_text(entry, (char *)text);
    OPENSSL_free(text);
}

warprsa_entry *warprsa_entry_of_authority(const warprsa_crypto *crypto,
                                          X509 *certificate)
{
    warprsa_entry *entry = entry_new();
    EVP_PKEY *key = X509_get0_pubkey(certificate);
    uint8_t *spki = NULL;

    if (entry == NULL)
        return NULL;
    if (key != NULL && set_certificate(entry, crypto, certificate) &&
        take(&entry->spki, i2d_PUBKEY(key, &spki), &spki) &&
        set_id(entry, crypto, key) &&
        hash(crypto, WARPRSA_DIGEST_SHA256, &entry->spki, entry->spki_sha256) &&
        hash(crypto, WARPRSA_DIGEST_SHA256, &entry->certificate.value,
             entry->identity)) {
        memcpy(entry->edition, entry->identity, sizeof(entry->edition));
        set_label(entry, certificate);
        return entry;
    }
    ERR_clear_error();
    warprsa_entry_release(entry);
    return NULL;
}

/* ---- references ---- */

static void entry_free(warprsa_entry *entry)
{
    warprsa_backend_key *key = atomic_load(&entry->backend_key);

    if (key != NULL)
        warprsa_backend_daemon.key_release(key);
    EVP_PKEY_free(entry->public);
    free(entry->spki.data);
    free(entry->subject.data);
    free(entry->modulus.data);
    free(entry->exponent.data);
    free(entry->certificate.value.data);
    free(entry->certificate.issuer.data);
    free(entry->certificate.serial.data);
    free(entry);
}

void warprsa_entry_hold(warprsa_entry *entry)
{
    if (entry != NULL)
        atomic_fetch_add_explicit(&entry->references, 1, memory_order_relaxed);
}

void warprsa_entry_release(warprsa_entry *entry)
{
    if (entry != NULL && atomic_fetch_sub_explicit(&entry->references, 1,
                                                   memory_order_acq_rel) == 1)
        entry_free(entry);
}

/* ---- views ---- */

bool warprsa_entry_has(const warprsa_entry *entry, warprsa_object_kind kind)
{
    return kind == WARPRSA_OBJECT_CERTIFICATE
               ? entry->certificate.value.data != NULL
               : entry->has_key;
}

bool warprsa_entry_allows(const warprsa_entry *entry,
                          const warprsa_mechanism *mechanism, CK_FLAGS flag)
{
    if (entry->pss && mechanism->padding != WARPRSA_PADDING_PSS)
        return false;
    if ((flag & private_flags) != 0)
        return warprsa_mechanism_is_allowed(mechanism, flag, &entry->rights);
    return (flag & public_flags) != 0 && (mechanism->flags & flag) != 0;
}
