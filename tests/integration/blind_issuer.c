/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An issuer of blind RSA signatures (RFC 9474) by a PKCS #11 module, as an
 * example: threads with a session each sign what clients have blinded.
 *
 *   blind_issuer MODULE LABEL THREADS <BLINDED >SIGNED
 *
 * BLINDED has blinded messages one after the other, as long as the modulus.
 * SIGNED gets the blind signatures in the same order. A message that is no
 * number below the modulus gets zeros, and a line to stderr; the exit status is
 * 1 then. BlindSign() of RFC 9474, 4.3, has the issuer check each signature by
 * the public key: warprsad does so before it answers.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <p11-kit/pkcs11.h>

enum {
    THREADS_MAX = 4096,
    MESSAGES_MAX = 65536,
    MODULUS_BYTES_MAX = 1024,
};

typedef struct issuer {
    CK_FUNCTION_LIST *token;
    CK_SLOT_ID slot;
    CK_OBJECT_HANDLE key;
    size_t bytes; /* of the modulus */
    unsigned char *blinded, *blind_signatures;
    size_t messages;
    atomic_size_t next; /* the first message that no thread has taken */
    atomic_bool refused;
} issuer;

static void fail(const char *what, CK_RV rv)
{
    fprintf(stderr, "blind_issuer: %s", what);
    if (rv != CKR_OK)
        fprintf(stderr, ": 0x%lx", (unsigned long)rv);
    fprintf(stderr, "\n");
    exit(1);
}

static void succeeds(CK_RV rv, const char *function)
{
    if (rv != CKR_OK)
        fail(function, rv);
}

/* Opens the module, for calls by any thread, and finds its token. */
static void open_token(issuer *i, const char *module)
{
    char settings[] = "deadline_ms=600000"; /* late rather than not at all */
    CK_C_INITIALIZE_ARGS arguments = {.flags = CKF_OS_LOCKING_OK,
                                      .pReserved = settings};
    CK_C_GetFunctionList get = NULL;
    CK_ULONG slots = 1;
    void *library = dlopen(module, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        fail(dlerror(), CKR_OK);
    *(void **)&get = dlsym(library, "C_GetFunctionList");
    if (get == NULL)
        fail(dlerror(), CKR_OK);
    succeeds(get(&i->token), "C_GetFunctionList");
    succeeds(i->token->C_Initialize(&arguments), "C_Initialize");
    succeeds(i->token->C_GetSlotList(CK_TRUE, &i->slot, &slots),
             "C_GetSlotList");
}

static CK_SESSION_HANDLE open_session(const issuer *i)
{
    CK_SESSION_HANDLE session = 0;

    succeeds(i->token->C_OpenSession(i->slot, CKF_SERIAL_SESSION, NULL, NULL,
                                     &session),
             "C_OpenSession");
    return session;
}

/* Finds the key, which all sessions may use, and the length of its modulus. */
static void find_key(issuer *i, char *label)
{
    const CK_SESSION_HANDLE session = open_session(i);
    CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
    CK_ATTRIBUTE wanted[] = {
        {CKA_CLASS, &class, sizeof(class)},
        {CKA_LABEL, label, strlen(label)},
    };
    CK_ATTRIBUTE modulus = {.type = CKA_MODULUS};
    CK_ULONG count = 0;

    succeeds(i->token->C_FindObjectsInit(session, wanted, 2),
             "C_FindObjectsInit");
    succeeds(i->token->C_FindObjects(session, &i->key, 1, &count),
             "C_FindObjects");
    succeeds(i->token->C_FindObjectsFinal(session), "C_FindObjectsFinal");
    if (count == 0)
        fail("the token has no such key for this user", CKR_OK);
    succeeds(i->token->C_GetAttributeValue(session, i->key, &modulus, 1),
             "C_GetAttributeValue");
    i->bytes = modulus.ulValueLen;
    if (i->bytes == 0 || i->bytes > MODULUS_BYTES_MAX)
        fail("the key has a modulus of another length", CKR_OK);
    succeeds(i->token->C_CloseSession(session), "C_CloseSession");
}

static void read_messages(issuer *i)
{
    size_t bytes;

    i->blinded = malloc(MESSAGES_MAX * i->bytes);
    i->blind_signatures = calloc(MESSAGES_MAX, i->bytes);
    if (i->blinded == NULL || i->blind_signatures == NULL)
        fail("no memory", CKR_OK);
    bytes = fread(i->blinded, 1, MESSAGES_MAX * i->bytes, stdin);
    if (ferror(stdin) || fgetc(stdin) != EOF || bytes % i->bytes != 0)
        fail("the input is no messages as long as the modulus, or more of "
             "them than 65536",
             CKR_OK);
    i->messages = bytes / i->bytes;
}

/* A thread: takes the next message until there is none. */
static void *issue(void *arg)
{
    issuer *i = arg;
    const CK_SESSION_HANDLE session = open_session(i);
    CK_MECHANISM raw = {.mechanism = CKM_RSA_X_509};
    size_t number;

    while ((number = atomic_fetch_add(&i->next, 1)) < i->messages) {
        CK_ULONG bytes = i->bytes;
        CK_RV rv = i->token->C_SignInit(session, &raw, i->key);

        succeeds(rv, "C_SignInit");
        rv = i->token->C_Sign(session, i->blinded + number * i->bytes, i->bytes,
                              i->blind_signatures + number * i->bytes, &bytes);
        if (rv == CKR_DATA_INVALID) {
            fprintf(stderr,
                    "blind_issuer: message %zu: not below the modulus\n",
                    number);
            atomic_store(&i->refused, true);
        } else {
            succeeds(rv, "C_Sign");
        }
    }
    succeeds(i->token->C_CloseSession(session), "C_CloseSession");
    return NULL;
}

int main(int argc, char **argv)
{
    static issuer i;
    pthread_t thread[THREADS_MAX];
    const unsigned long threads = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;

    if (threads < 1 || threads > THREADS_MAX) {
        fprintf(stderr,
                "usage: blind_issuer MODULE LABEL THREADS <BLINDED >SIGNED\n"
                "1 to %d threads\n",
                THREADS_MAX);
        return 2;
    }
    open_token(&i, argv[1]);
    find_key(&i, argv[2]);
    read_messages(&i);
    for (unsigned long t = 0; t < threads; t++)
        if (pthread_create(&thread[t], NULL, issue, &i) != 0)
            fail("a thread does not start", CKR_OK);
    for (unsigned long t = 0; t < threads; t++)
        pthread_join(thread[t], NULL);
    succeeds(i.token->C_Finalize(NULL), "C_Finalize");
    if (fwrite(i.blind_signatures, i.bytes, i.messages, stdout) != i.messages ||
        fflush(stdout) != 0)
        fail("the output cannot be written", CKR_OK);
    free(i.blinded);
    free(i.blind_signatures);
    return atomic_load(&i.refused) ? 1 : 0;
}
