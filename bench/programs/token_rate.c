/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Signatures of threads that each sign one after the other by a key of the
 * daemon's vault: through the PKCS #11 module, each thread with a session that
 * it keeps, or through the provider. For bench/token.
 *
 *   token_rate module MODULE LABEL PUBLIC-KEY THREADS SECONDS
 *   token_rate provider REFERENCE PUBLIC-KEY THREADS SECONDS
 *
 * The padding is PKCS #1 v1.5 and the message a SHA-256 hash, another one for
 * each thread, so that each signature of a thread is the same number. libcrypto
 * verifies the first one, and all others are compared with it. The warm-up is
 * half a second, or longer until each thread has signed. Prints the rate, and
 * the microseconds of this process's processor time for a signature.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <p11-kit/pkcs11.h>

enum {
    HASH_BYTES = 32,
    PREFIX_BYTES = 19,
    SIGNATURE_BYTES_MAX = 1024,
    THREADS_MAX = 65536,
    STACK_BYTES = 256 * 1024,
    WARM_UP_MS = 500,
};

/* The DigestInfo of SHA-256, up to the hash: RFC 8017, 9.2, note 1. */
static const uint8_t prefix[PREFIX_BYTES] = {
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01,
    0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20,
};

typedef struct signer {
    pthread_t thread;
    uint8_t input[PREFIX_BYTES + HASH_BYTES];
    uint8_t first[SIGNATURE_BYTES_MAX], signature[SIGNATURE_BYTES_MAX];
    size_t bytes;
    /* By the module. */
    CK_SESSION_HANDLE session;
    CK_OBJECT_HANDLE object;
    /* By the provider. */
    EVP_PKEY_CTX *ctx;
    atomic_ulong count;
} signer;

static CK_FUNCTION_LIST *module; /* NULL: by the provider */
static EVP_PKEY *reference, *public_key;
static atomic_bool stop;

static void fail(const char *what)
{
    fprintf(stderr, "token_rate: %s\n", what);
    exit(1);
}

static void succeeds(CK_RV rv, const char *function)
{
    if (rv == CKR_OK)
        return;
    fprintf(stderr, "token_rate: %s: 0x%lx\n", function, (unsigned long)rv);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double processor_us(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        fail("getrusage");
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void pause_ms(double ms)
{
    const struct timespec t = {
        .tv_sec = (time_t)(ms / 1000),
        .tv_nsec = (long)((ms - 1000 * (double)(time_t)(ms / 1000)) * 1e6),
    };

    nanosleep(&t, NULL);
}

/* ---- keys ---- */

static EVP_PKEY *read_key(const char *path, bool is_public)
{
    FILE *file = fopen(path, "r");
    EVP_PKEY *key = NULL;

    if (file == NULL)
        fail(path);
    key = is_public ? PEM_read_PUBKEY(file, NULL, NULL, NULL)
                    : PEM_read_PrivateKey(file, NULL, NULL, NULL);
    fclose(file);
    if (key == NULL)
        fail(path);
    return key;
}

static void open_module(const char *path)
{
    /* A CPU takes longer than the default for as many as there are threads. */
    char settings[] = "deadline_ms=600000";
    CK_C_INITIALIZE_ARGS arguments = {.flags = CKF_OS_LOCKING_OK,
                                      .pReserved = settings};
    CK_C_GetFunctionList get = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        fail(dlerror());
    *(void **)&get = dlsym(library, "C_GetFunctionList");
    if (get == NULL)
        fail(dlerror());
    succeeds(get(&module), "C_GetFunctionList");
    succeeds(module->C_Initialize(&arguments), "C_Initialize");
}

static CK_OBJECT_HANDLE find_key(CK_SESSION_HANDLE session, char *label)
{
    CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
    CK_ATTRIBUTE wanted[] = {
        {CKA_CLASS, &class, sizeof(class)},
        {CKA_LABEL, label, strlen(label)},
    };
    CK_OBJECT_HANDLE found = 0;
    CK_ULONG count = 0;

    succeeds(module->C_FindObjectsInit(session, wanted, 2),
             "C_FindObjectsInit");
    succeeds(module->C_FindObjects(session, &found, 1, &count),
             "C_FindObjects");
    succeeds(module->C_FindObjectsFinal(session), "C_FindObjectsFinal");
    if (count != 1)
        fail("the token has no such key");
    return found;
}

static CK_SESSION_HANDLE open_session(void)
{
    CK_SESSION_HANDLE session = 0;
    CK_SLOT_ID slot = 0;
    CK_ULONG slots = 1;

    succeeds(module->C_GetSlotList(CK_TRUE, &slot, &slots), "C_GetSlotList");
    succeeds(
        module->C_OpenSession(slot, CKF_SERIAL_SESSION, NULL, NULL, &session),
        "C_OpenSession");
    return session;
}

static EVP_PKEY_CTX *context_of(EVP_PKEY *key, int (*init)(EVP_PKEY_CTX *))
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);

    if (ctx == NULL || init(ctx) != 1 ||
        EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PADDING) != 1 ||
        EVP_PKEY_CTX_set_signature_md(ctx, EVP_sha256()) != 1)
        fail("no context of a key");
    return ctx;
}

/* ---- signing ---- */

static void sign(signer *s)
{
    CK_MECHANISM mechanism = {.mechanism = CKM_RSA_PKCS};
    CK_ULONG bytes = sizeof(s->signature);

    s->bytes = sizeof(s->signature);
    if (module == NULL) {
        if (EVP_PKEY_sign(s->ctx, s->signature, &s->bytes,
                          s->input + PREFIX_BYTES, HASH_BYTES) != 1)
            fail("EVP_PKEY_sign");
        return;
    }
    succeeds(module->C_SignInit(s->session, &mechanism, s->object),
             "C_SignInit");
    succeeds(module->C_Sign(s->session, s->input, sizeof(s->input),
                            s->signature, &bytes),
             "C_Sign");
    s->bytes = bytes;
}

static void verify_first(signer *s)
{
    EVP_PKEY_CTX *ctx = context_of(public_key, EVP_PKEY_verify_init);

    if (EVP_PKEY_verify(ctx, s->signature, s->bytes, s->input + PREFIX_BYTES,
                        HASH_BYTES) != 1)
        fail("a wrong signature");
    EVP_PKEY_CTX_free(ctx);
    memcpy(s->first, s->signature, s->bytes);
}

static void *run(void *arg)
{
    signer *s = arg;

    sign(s);
    verify_first(s);
    do {
        atomic_fetch_add_explicit(&s->count, 1, memory_order_relaxed);
        sign(s);
        if (memcmp(s->first, s->signature, s->bytes) != 0)
            fail("a wrong signature");
    } while (!atomic_load_explicit(&stop, memory_order_relaxed));
    return NULL;
}

static signer *start(unsigned threads, char *label)
{
    signer *signers = calloc(threads, sizeof(*signers));
    CK_OBJECT_HANDLE object = 0;
    pthread_attr_t small;

    if (signers == NULL || pthread_attr_init(&small) != 0 ||
        pthread_attr_setstacksize(&small, STACK_BYTES) != 0)
        fail("no memory");
    for (unsigned i = 0; i < threads; i++) {
        signer *s = &signers[i];

        memcpy(s->input, prefix, sizeof(prefix));
        memcpy(s->input + PREFIX_BYTES, &i, sizeof(i));
        if (module != NULL) {
            s->session = open_session();
            s->object = object = i == 0 ? find_key(s->session, label) : object;
        } else {
            s->ctx = context_of(reference, EVP_PKEY_sign_init);
        }
    }
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&signers[i].thread, &small, run, &signers[i]) != 0)
            fail("a thread does not start");
    pthread_attr_destroy(&small);
    return signers;
}

static unsigned long signed_so_far(signer *signers, unsigned threads)
{
    unsigned long sum = 0;

    for (unsigned i = 0; i < threads; i++)
        sum += atomic_load_explicit(&signers[i].count, memory_order_relaxed);
    return sum;
}

static bool all_have_signed(signer *signers, unsigned threads)
{
    for (unsigned i = 0; i < threads; i++)
        if (atomic_load_explicit(&signers[i].count, memory_order_relaxed) == 0)
            return false;
    return true;
}

static void measure(signer *signers, unsigned threads, double seconds)
{
    unsigned long before = 0, count = 0;
    double begun = 0, us = 0;

    do
        pause_ms(WARM_UP_MS);
    while (!all_have_signed(signers, threads));
    begun = now();
    us = processor_us();
    before = signed_so_far(signers, threads);
    pause_ms(1000 * seconds);
    count = signed_so_far(signers, threads) - before;
    us = processor_us() - us;
    seconds = now() - begun;
    if (count == 0)
        fail("nothing was signed; measure longer");
    printf("%.1f %.3f\n", (double)count / seconds, us / (double)count);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(signers[i].thread, NULL);
}

int main(int argc, char **argv)
{
    const bool by_module = argc == 7 && strcmp(argv[1], "module") == 0;
    const bool by_provider = argc == 6 && strcmp(argv[1], "provider") == 0;
    unsigned long threads = 0;
    double seconds = 0;
    signer *signers = NULL;

    if (by_module || by_provider) {
        threads = strtoul(argv[argc - 2], NULL, 10);
        seconds = strtod(argv[argc - 1], NULL);
    }
    if (threads < 1 || threads > THREADS_MAX || !(seconds > 0)) {
        fprintf(stderr,
                "usage: token_rate module MODULE LABEL PUBLIC-KEY THREADS "
                "SECONDS\n"
                "       token_rate provider REFERENCE PUBLIC-KEY THREADS "
                "SECONDS\n"
                "1 to %d threads\n",
                THREADS_MAX);
        return 2;
    }
    if (by_module)
        open_module(argv[2]);
    else
        reference = read_key(argv[2], false);
    public_key = read_key(argv[argc - 3], true);
    signers = start((unsigned)threads, by_module ? argv[3] : NULL);
    measure(signers, (unsigned)threads, seconds);
    if (by_module)
        succeeds(module->C_Finalize(NULL), "C_Finalize");
    for (unsigned i = 0; i < threads; i++)
        EVP_PKEY_CTX_free(signers[i].ctx);
    free(signers);
    EVP_PKEY_free(reference);
    EVP_PKEY_free(public_key);
    return 0;
}
