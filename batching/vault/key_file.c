/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A private key from a PEM file; see key_file.h.
 */
#include "batching/vault/key_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "batching/vault/key_numbers.h"

/* What is told to libcrypto's question for a passphrase, and what became of
 * it. */
typedef struct question {
    const warprsa_trusted_file *passphrase;
    bool asked;
} question;

static int answer(char *buffer, int size, int is_writing, void *arg)
{
    question *q = arg;

    (void)is_writing;
    q->asked = true;
    if (q->passphrase == NULL || q->passphrase->size > (size_t)size)
        return -1;
    memcpy(buffer, q->passphrase->bytes, q->passphrase->size);
    return (int)q->passphrase->size;
}

/* The kinds of parts that a PEM file may have. */
typedef enum part {
    PART_NONE, /* the end of the file */
    PART_BROKEN,
    PART_OTHER,
    PART_PUBLIC_KEY,
    PART_PRIVATE_KEY,
} part;

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Reads over the next part. */
static part next_part(BIO *pem)
{
    char *name = NULL, *header = NULL;
    unsigned char *data = NULL;
    long bytes = 0;
    part found = PART_OTHER;

    if (PEM_read_bio(pem, &name, &header, &data, &bytes) != 1)
        return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
                   ? PART_NONE
                   : PART_BROKEN;
    if (ends_with(name, "PRIVATE KEY"))
        found = PART_PRIVATE_KEY;
    else if (ends_with(name, "PUBLIC KEY"))
        found = PART_PUBLIC_KEY;
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_clear_free(data, (size_t)bytes);
    return found;
}

static BIO *bio_of(const warprsa_trusted_file *file)
{
    return BIO_new_mem_buf(file->bytes, (int)file->size);
}

/* Whether the file has exactly one private key. */
static bool has_one_key(const warprsa_trusted_file *file, char *why,
                        size_t why_size)
{
    BIO *pem = bio_of(file);
    unsigned private_keys = 0, public_keys = 0;
    part found = pem != NULL ? next_part(pem) : PART_BROKEN;

    for (; found > PART_BROKEN; found = next_part(pem)) {
        private_keys += found == PART_PRIVATE_KEY;
        public_keys += found == PART_PUBLIC_KEY;
    }
    BIO_free(pem);
    if (found == PART_BROKEN)
        snprintf(why, why_size, "it is no PEM, or cut off");
    else if (private_keys > 1)
        snprintf(why, why_size, "it has %u private keys: expected one",
                 private_keys);
    else if (private_keys == 0)
        snprintf(why, why_size, "it has %s: expected a private key in PEM",
                 public_keys > 0 ? "a public key alone" : "no key");
    return found == PART_NONE && private_keys == 1;
}

static EVP_PKEY *decode(const warprsa_trusted_file *file,
                        const warprsa_trusted_file *passphrase, char *why,
                        size_t why_size)
{
    question q = {.passphrase = passphrase};
    BIO *pem = bio_of(file);
    EVP_PKEY *key =
        pem != NULL ? PEM_read_bio_PrivateKey(pem, NULL, answer, &q) : NULL;

    BIO_free(pem);
    if (key != NULL)
        return key;
    if (!q.asked)
        snprintf(why, why_size, "it is no private key of PKCS#8 or PKCS#1");
    else if (passphrase == NULL)
        snprintf(why, why_size,
                 "it is encrypted, and there is no passphrase: "
                 "set keys_passphrase_file");
    else
        snprintf(why, why_size,
                 "it is encrypted, and the passphrase does not "
                 "decrypt it");
    return NULL;
}

/* Whether it is a key that the vault takes. */
static bool check_kind(const EVP_PKEY *key, char *why, size_t why_size)
{
    const char *type = EVP_PKEY_get0_type_name(key);
    const int bits = EVP_PKEY_get_bits(key);

    if (!EVP_PKEY_is_a(key, "RSA") && !EVP_PKEY_is_a(key, "RSA-PSS")) {
        snprintf(why, why_size, "it is a key of the type %s: expected RSA",
                 type != NULL ? type : "?");
        return false;
    }
    if (bits < WARPRSA_VAULT_MODULUS_BITS_MIN ||
        bits > WARPRSA_VAULT_MODULUS_BITS_MAX) {
        snprintf(why, why_size, "it is a key of %d bits: expected %d to %d",
                 bits, WARPRSA_VAULT_MODULUS_BITS_MIN,
                 WARPRSA_VAULT_MODULUS_BITS_MAX);
        return false;
    }
    return true;
}

/* Checks the numbers of a key, unless those of a file with this digest were. */
static bool check_numbers(EVP_PKEY *key,
                          const uint8_t digest[WARPRSA_CHECKED_KEY_BYTES],
                          warprsa_checked_keys *checked, char *why,
                          size_t why_size)
{
    EVP_PKEY_CTX *ctx = NULL;
    bool ok = warprsa_checked_keys_have(checked, digest);

    if (ok)
        return true;
    ctx = EVP_PKEY_CTX_new(key, NULL);
    ok = ctx != NULL && EVP_PKEY_check(ctx) == 1;
    EVP_PKEY_CTX_free(ctx);
    if (ok)
        warprsa_checked_keys_add(checked, digest);
    else
        snprintf(why, why_size,
                 "its numbers do not belong together, or its primes are none");
    return ok;
}

static bool digest_of(const warprsa_trusted_file *file,
                      uint8_t digest[WARPRSA_CHECKED_KEY_BYTES], char *why,
                      size_t why_size)
{
    if (EVP_Digest(file->bytes, file->size, digest, NULL, EVP_sha256(), NULL) ==
        1)
        return true;
    snprintf(why, why_size, "libcrypto has no SHA-256");
    return false;
}

EVP_PKEY *warprsa_key_file_read(int directory, const char *name,
                                const warprsa_trusted_file *passphrase,
                                warprsa_checked_keys *checked, char *why,
                                size_t why_size)
{
    uint8_t digest[WARPRSA_CHECKED_KEY_BYTES];
    warprsa_trusted_file file;
    EVP_PKEY *key = NULL;

    if (!warprsa_trusted_file_read(&file, directory, name, true,
                                   WARPRSA_KEY_FILE_BYTES_MAX, why, why_size))
        return NULL;
    ERR_set_mark();
    if (has_one_key(&file, why, why_size) &&
        digest_of(&file, digest, why, why_size))
        key = decode(&file, passphrase, why, why_size);
    warprsa_trusted_file_free(&file);
    if (key != NULL && (!check_kind(key, why, why_size) ||
                        !check_numbers(key, digest, checked, why, why_size))) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    ERR_pop_to_mark();
    return key;
}

bool warprsa_key_file_passphrase(warprsa_trusted_file *passphrase,
                                 const char *path, char *why, size_t why_size)
{
    char reason[200];
    size_t length = 0;

    if (!warprsa_trusted_file_read(passphrase, AT_FDCWD, path, true,
                                   WARPRSA_PASSPHRASE_BYTES_MAX, reason,
                                   sizeof(reason))) {
        snprintf(why, why_size, "%s: %s", path, reason);
        return false;
    }
    length = strcspn(passphrase->bytes, "\r\n");
    if (length > 0) {
        memset(passphrase->bytes + length, 0, passphrase->size - length);
        passphrase->size = length;
        return true;
    }
    warprsa_trusted_file_free(passphrase);
    snprintf(why, why_size, "%s: expected a passphrase in its first line",
             path);
    return false;
}

/* libcrypto passes over all that is no certificate. */
static bool has_private_key(const warprsa_trusted_file *file)
{
    static const char end[] = "PRIVATE KEY-----";

    return memmem(file->bytes, file->size, end, sizeof(end) - 1) != NULL;
}

/* Whether these are certificates without a private key, and the first is the
 * key's. */
static bool check_certificates(const warprsa_trusted_file *file,
                               const EVP_PKEY *key, char *why, size_t why_size)
{
    question q = {0}; /* has no answer, and is not put to a terminal */
    BIO *pem = bio_of(file);
    X509 *certificate = NULL;
    unsigned count = 0;
    bool belongs = true, is_whole = false;

    while (pem != NULL &&
           (certificate = PEM_read_bio_X509(pem, NULL, answer, &q)) != NULL) {
        if (count++ == 0)
            belongs = EVP_PKEY_eq(X509_get0_pubkey(certificate), key) == 1;
        X509_free(certificate);
    }
    is_whole = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    BIO_free(pem);
    if (has_private_key(file)) {
        snprintf(why, why_size,
                 "it has a private key: expected certificates alone in PEM");
        return false;
    }
    if (count == 0 || !is_whole)
        snprintf(why, why_size, "expected certificates in PEM");
    else if (!belongs)
        snprintf(why, why_size,
                 "its first certificate is for another public key");
    return count > 0 && is_whole && belongs;
}

bool warprsa_key_file_certificates(warprsa_trusted_file *certificates,
                                   int directory, const char *name,
                                   const EVP_PKEY *key, char *why,
                                   size_t why_size)
{
    bool ok = false;

    if (!warprsa_trusted_file_read(certificates, directory, name, false,
                                   WARPRSA_CERTIFICATE_FILE_BYTES_MAX, why,
                                   why_size))
        return false;
    ERR_set_mark();
    ok = check_certificates(certificates, key, why, why_size);
    ERR_pop_to_mark();
    if (!ok)
        warprsa_trusted_file_free(certificates);
    return ok;
}
