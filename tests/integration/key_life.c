/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses an RSA key in all ways, and prints results and errors, so
 * that its output with the provider can be compared with that without.
 *
 *     key_life            uses and frees a key
 *     key_life late       frees it when OpenSSL has been cleaned up: in a
 *                         handler of exit() older than OpenSSL's own
 *     key_life public     signs, verifies and encrypts with the public key
 *                         alone, decrypts, and says which provider did what
 *     key_life order FILE frees it after its library context, which has loaded
 *                         this configuration
 *     key_life thread FILE
 *                         uses it in a thread that stops its library context,
 *                         and ends after all is freed
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

enum {
    BITS = 1024,
    BYTES = BITS / 8,
};

static const unsigned char message[32] = "a message";
static EVP_PKEY *late_key;

static void free_late_key(void)
{
    EVP_PKEY_free(late_key);
    puts("key freed late");
}

static void print(const char *what, int result)
{
    const char *data = NULL;
    unsigned long code = 0;
    int flags = 0;

    printf("%s: %d\n", what, result);
    while ((code = ERR_get_error_all(NULL, NULL, NULL, &data, &flags)) != 0)
        printf("    %s: %s: %s\n", ERR_lib_error_string(code),
               ERR_reason_error_string(code),
               flags & ERR_TXT_STRING ? data : "");
}

/* Signs, both with a context and with a copy of it made half-way, and verifies
 * what was signed, and then something else. */
static void sign(OSSL_LIB_CTX *libctx, EVP_PKEY *key, int padding)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new(), *copy = EVP_MD_CTX_new();
    EVP_PKEY_CTX *key_ctx = NULL;
    unsigned char signature[BYTES] = {0}, second[BYTES];
    size_t length = BYTES, second_length = BYTES;

    print("sign init", EVP_DigestSignInit_ex(ctx, &key_ctx, "SHA256", libctx,
                                             NULL, key, NULL));
    print("padding", EVP_PKEY_CTX_set_rsa_padding(key_ctx, padding));
    print("update", EVP_DigestSignUpdate(ctx, message, sizeof(message)));
    print("copy", EVP_MD_CTX_copy_ex(copy, ctx));
    print("sign", EVP_DigestSignFinal(ctx, signature, &length));
    print("sign again", EVP_DigestSignFinal(copy, second, &second_length));
    EVP_MD_CTX_free(copy);
    EVP_MD_CTX_reset(ctx);
    print("verify init", EVP_DigestVerifyInit_ex(ctx, &key_ctx, "SHA256",
                                                 libctx, NULL, key, NULL));
    print("padding", EVP_PKEY_CTX_set_rsa_padding(key_ctx, padding));
    print("verify", EVP_DigestVerify(ctx, second, second_length, message,
                                     sizeof(message)));
    EVP_MD_CTX_reset(ctx);
    print("verify init", EVP_DigestVerifyInit_ex(ctx, &key_ctx, "SHA256",
                                                 libctx, NULL, key, NULL));
    print("padding", EVP_PKEY_CTX_set_rsa_padding(key_ctx, padding));
    print("verify another", EVP_DigestVerify(ctx, signature, length, message,
                                             sizeof(message) - 1));
    EVP_MD_CTX_free(ctx);
}

static void decrypt(OSSL_LIB_CTX *libctx, EVP_PKEY *key)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(libctx, key, NULL);
    unsigned char sealed[BYTES], opened[BYTES] = {0};
    size_t length = BYTES, opened_length = BYTES;

    print("encrypt init", EVP_PKEY_encrypt_init(ctx));
    print("OAEP", EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_OAEP_PADDING));
    print("encrypt",
          EVP_PKEY_encrypt(ctx, sealed, &length, message, sizeof(message)));
    print("decrypt init", EVP_PKEY_decrypt_init(ctx));
    print("OAEP", EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_OAEP_PADDING));
    print("decrypt",
          EVP_PKEY_decrypt(ctx, opened, &opened_length, sealed, length));
    print("the same", opened_length == sizeof(message) &&
                          memcmp(opened, message, sizeof(message)) == 0);
    memset(sealed, 1, sizeof(sealed));
    opened_length = BYTES;
    print("decrypt another",
          EVP_PKEY_decrypt(ctx, opened, &opened_length, sealed, length));
    EVP_PKEY_CTX_free(ctx);
}

/* What fails: in SIGNATURE, before and in the operation. */
static void fail(OSSL_LIB_CTX *libctx, EVP_PKEY *key)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(libctx, key, NULL);
    unsigned char signature[BYTES];
    size_t length = BYTES;

    print("sign init", EVP_PKEY_sign_init(ctx));
    print("salt length without PSS", EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, 3));
    print("sign too much",
          EVP_PKEY_sign(ctx, signature, &length, signature, BYTES));
    length = BYTES - 1;
    print("sign into too little",
          EVP_PKEY_sign(ctx, signature, &length, message, sizeof(message)));
    EVP_PKEY_CTX_free(ctx);
}

static EVP_PKEY *use_key(OSSL_LIB_CTX *libctx)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(libctx, NULL, "RSA", (size_t)BITS);

    if (key == NULL) {
        print("no key", 0);
        exit(1);
    }
    sign(libctx, key, RSA_PKCS1_PADDING);
    sign(libctx, key, RSA_PKCS1_PSS_PADDING);
    decrypt(libctx, key);
    fail(libctx, key);
    return key;
}

static OSSL_LIB_CTX *context_of(const char *configuration)
{
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();

    print("configuration", OSSL_LIB_CTX_load_config(libctx, configuration));
    return libctx;
}

static void print_provider(const char *what, EVP_PKEY_CTX *ctx)
{
    const OSSL_PROVIDER *provider = EVP_PKEY_CTX_get0_provider(ctx);

    printf("%s by %s\n", what,
           provider != NULL ? OSSL_PROVIDER_get0_name(provider) : "nobody");
}

/* The same key without its private part. */
static EVP_PKEY *public_part(EVP_PKEY *key)
{
    unsigned char *der = NULL;
    int length = i2d_PUBKEY(key, &der);
    const unsigned char *at = der;
    EVP_PKEY *part = length > 0 ? d2i_PUBKEY(NULL, &at, length) : NULL;

    OPENSSL_free(der);
    return part;
}

static void verify_publicly(EVP_PKEY *public, const unsigned char *signature,
                            size_t length)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *key_ctx = NULL;

    for (size_t less = 0; less < 2; less++) {
        print("verify init", EVP_DigestVerifyInit_ex(ctx, &key_ctx, "SHA256",
                                                     NULL, NULL, public, NULL));
        print_provider("verified", key_ctx);
        print("verify", EVP_DigestVerify(ctx, signature, length, message,
                                         sizeof(message) - less));
        EVP_MD_CTX_reset(ctx);
    }
    EVP_MD_CTX_free(ctx);
}

static void cipher(EVP_PKEY *public, EVP_PKEY *key)
{
    EVP_PKEY_CTX *to = EVP_PKEY_CTX_new_from_pkey(NULL, public, NULL);
    EVP_PKEY_CTX *from = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    unsigned char sealed[BYTES], opened[BYTES] = {0};
    size_t length = BYTES, opened_length = BYTES;

    print("encrypt init", EVP_PKEY_encrypt_init(to));
    print_provider("encrypted", to);
    print("encrypt",
          EVP_PKEY_encrypt(to, sealed, &length, message, sizeof(message)));
    print("decrypt init", EVP_PKEY_decrypt_init(from));
    print_provider("decrypted", from);
    print("decrypt",
          EVP_PKEY_decrypt(from, opened, &opened_length, sealed, length));
    print("the same", opened_length == sizeof(message) &&
                          memcmp(opened, message, sizeof(message)) == 0);
    EVP_PKEY_CTX_free(to);
    EVP_PKEY_CTX_free(from);
}

static int use_public_part(void)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)BITS);
    EVP_PKEY *public = key != NULL ? public_part(key) : NULL;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char signature[BYTES];
    size_t length = BYTES;

    if (public == NULL || ctx == NULL)
        return 1;
    print("sign init",
          EVP_DigestSignInit_ex(ctx, NULL, "SHA256", NULL, NULL, key, NULL));
    print("sign",
          EVP_DigestSign(ctx, signature, &length, message, sizeof(message)));
    EVP_MD_CTX_free(ctx);
    verify_publicly(public, signature, length);
    cipher(public, key);
    EVP_PKEY_free(public);
    EVP_PKEY_free(key);
    return 0;
}

typedef struct user {
    OSSL_LIB_CTX *libctx;
    EVP_PKEY *key;
    sem_t used, freed;
} user;

static void *use_and_wait(void *arg)
{
    user *one = arg;

    one->key = use_key(one->libctx);
    OPENSSL_thread_stop_ex(one->libctx);
    sem_post(&one->used);
    sem_wait(&one->freed);
    return NULL;
}

static int thread_ends_late(const char *configuration)
{
    user one = {.libctx = context_of(configuration)};
    pthread_t thread;

    if (sem_init(&one.used, 0, 0) != 0 || sem_init(&one.freed, 0, 0) != 0 ||
        pthread_create(&thread, NULL, use_and_wait, &one) != 0)
        return 1;
    sem_wait(&one.used);
    EVP_PKEY_free(one.key);
    OSSL_LIB_CTX_free(one.libctx);
    sem_post(&one.freed);
    if (pthread_join(thread, NULL) != 0)
        return 1;
    puts("thread ended after the context");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "order") == 0) {
        OSSL_LIB_CTX *libctx = context_of(argv[2]);
        EVP_PKEY *key = use_key(libctx);

        OSSL_LIB_CTX_free(libctx);
        EVP_PKEY_free(key);
        puts("key freed after its context");
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "thread") == 0)
        return thread_ends_late(argv[2]);
    if (argc == 2 && strcmp(argv[1], "public") == 0)
        return use_public_part();
    if (argc == 2 && strcmp(argv[1], "late") == 0) {
        if (atexit(free_late_key) != 0)
            return 1;
        late_key = use_key(NULL);
        return 0;
    }
    EVP_PKEY_free(use_key(NULL));
    return 0;
}
