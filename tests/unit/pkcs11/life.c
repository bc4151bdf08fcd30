/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of the PKCS #11 module: arguments of C_Initialize, interfaces,
 * forks, C_Finalize while operations are under way, and a daemon that goes
 * away.
 */
#include "tests/unit/support/token_support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SHORT_MS = 200,
    PATIENT_MS = 600000,
    THREADS = 4,
    ROUNDS = 100,
};

static CK_RV lock(void *mutex)
{
    (void)mutex;
    return CKR_OK;
}

static CK_RV make(void **mutex)
{
    *mutex = NULL;
    return CKR_OK;
}

static CK_RV initialize(CK_C_INITIALIZE_ARGS *arguments)
{
    CK_RV rv = token.p11->C_Initialize(arguments);

    if (rv == CKR_OK)
        assert_int_equal(token.p11->C_Finalize(NULL), CKR_OK);
    return rv;
}

TEST(arguments)
{
    CK_C_INITIALIZE_ARGS some = {.LockMutex = lock};
    CK_C_INITIALIZE_ARGS all = {make, lock, lock, lock, 0, NULL};
    CK_C_INITIALIZE_ARGS text = {.pReserved = "nonsense"};

    assert_int_equal(initialize(NULL), CKR_OK);
    assert_int_equal(initialize(&some), CKR_ARGUMENTS_BAD);
    assert_int_equal(initialize(&all), CKR_CANT_LOCK);
    all.flags = CKF_OS_LOCKING_OK | CKF_LIBRARY_CANT_CREATE_OS_THREADS;
    assert_int_equal(initialize(&all), CKR_OK);
    assert_int_equal(initialize(&text), CKR_ARGUMENTS_BAD);
    text.pReserved = "socket=relative";
    assert_int_equal(initialize(&text), CKR_ARGUMENTS_BAD);
    text.pReserved = "deadline_ms=0";
    assert_int_equal(initialize(&text), CKR_ARGUMENTS_BAD);
    text.pReserved = " deadline_ms=7  socket=/nowhere ";
    assert_int_equal(initialize(&text), CKR_OK);
    /* The environment counts only where the text names no socket. */
    assert_int_equal(setenv("WARPRSA_SOCKET", "relative", 1), 0);
    assert_int_equal(initialize(&text), CKR_OK);
    text.pReserved = "deadline_ms=7";
    assert_int_equal(initialize(&text), CKR_ARGUMENTS_BAD);
    assert_int_equal(unsetenv("WARPRSA_SOCKET"), 0);
    assert_int_equal(token.p11->C_Finalize(NULL), CKR_CRYPTOKI_NOT_INITIALIZED);
    assert_int_equal(token.p11->C_Finalize(&text), CKR_ARGUMENTS_BAD);
}

TEST(interfaces)
{
    CK_RV (*list)(CK_INTERFACE *, CK_ULONG *) = NULL;
    CK_RV (*old)(CK_FUNCTION_LIST **) = NULL;
    CK_INTERFACE all[8];
    CK_FUNCTION_LIST *functions = NULL;
    CK_VERSION unknown = {2, 20};
    CK_INTERFACE *one = NULL;
    CK_ULONG count = 0;

    *(void **)&list = dlsym(token.module, "C_GetInterfaceList");
    *(void **)&old = dlsym(token.module, "C_GetFunctionList");
    assert_int_equal(list(NULL, &count), CKR_OK);
    assert_int_equal(count, 3);
    count = 2;
    assert_int_equal(list(all, &count), CKR_BUFFER_TOO_SMALL);
    assert_int_equal(list(all, &count), CKR_OK);
    assert_int_equal(old(&functions), CKR_OK);
    assert_int_equal(functions->version.major, 2);
    assert_int_equal(functions->version.minor, 40);
    assert_int_equal(token.p11->version.major, 3);
    assert_int_equal(
        token.p11->C_GetInterface((CK_UTF8CHAR *)"PKCS 11", &unknown, &one, 0),
        CKR_FUNCTION_FAILED);
    assert_int_equal(
        token.p11->C_GetInterface((CK_UTF8CHAR *)"another", NULL, &one, 0),
        CKR_FUNCTION_FAILED);
    assert_int_equal(token.p11->C_GetInterface(NULL, NULL, NULL, 0),
                     CKR_ARGUMENTS_BAD);
}

/* Every function but three wants C_Initialize first. */
TEST(not_initialized)
{
    CK_SESSION_HANDLE session;
    CK_INFO info;
    CK_ULONG count = 0;

    assert_int_equal(token.p11->C_GetInfo(&info), CKR_CRYPTOKI_NOT_INITIALIZED);
    assert_int_equal(token.p11->C_GetSlotList(1, NULL, &count),
                     CKR_CRYPTOKI_NOT_INITIALIZED);
    assert_int_equal(
        token.p11->C_OpenSession(0, CKF_SERIAL_SESSION, NULL, NULL, &session),
        CKR_CRYPTOKI_NOT_INITIALIZED);
    assert_int_equal(token.p11->C_Sign(1, NULL, 0, NULL, &count),
                     CKR_CRYPTOKI_NOT_INITIALIZED);
}

TEST_IN(slots, test_token_begin, test_token_end)
{
    CK_SLOT_ID slot = 77;
    CK_SESSION_HANDLE session;
    CK_SLOT_INFO info;
    CK_TOKEN_INFO about;
    CK_ULONG count = 0;

    assert_int_equal(token.p11->C_Initialize(test_token_arguments(PATIENT_MS)),
                     CKR_CRYPTOKI_ALREADY_INITIALIZED);
    assert_int_equal(token.p11->C_GetSlotList(CK_TRUE, &slot, &count),
                     CKR_BUFFER_TOO_SMALL);
    assert_int_equal(token.p11->C_GetSlotList(CK_TRUE, &slot, &count), CKR_OK);
    assert_int_equal(slot, 0);
    assert_int_equal(token.p11->C_GetSlotInfo(slot, &info), CKR_OK);
    assert_int_equal(info.flags & CKF_TOKEN_PRESENT, CKF_TOKEN_PRESENT);
    assert_int_equal(token.p11->C_GetSlotInfo(1, &info), CKR_SLOT_ID_INVALID);
    assert_int_equal(token.p11->C_GetTokenInfo(slot, &about), CKR_OK);
    assert_int_equal(about.flags, CKF_RNG | CKF_WRITE_PROTECTED |
                                      CKF_TOKEN_INITIALIZED |
                                      CKF_SO_PIN_LOCKED);
    assert_int_equal(token.p11->C_OpenSession(slot, 0, NULL, NULL, &session),
                     CKR_SESSION_PARALLEL_NOT_SUPPORTED);
    assert_int_equal(
        token.p11->C_OpenSession(1, CKF_SERIAL_SESSION, NULL, NULL, &session),
        CKR_SLOT_ID_INVALID);
    assert_int_equal(token.p11->C_WaitForSlotEvent(CKF_DONT_BLOCK, &slot, NULL),
                     CKR_NO_EVENT);
    assert_int_equal(token.p11->C_WaitForSlotEvent(0, &slot, NULL),
                     CKR_FUNCTION_NOT_SUPPORTED);
}

/* ---- uses ---- */

static CK_RV sign(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key)
{
    CK_MECHANISM mechanism = {CKM_RSA_X_509, NULL, 0};
    uint8_t signature[128];
    CK_ULONG bytes = sizeof(signature);
    CK_RV rv = token.p11->C_SignInit(session, &mechanism, key);

    return rv != CKR_OK ? rv
                        : token.p11->C_Sign(session, (CK_BYTE *)"x", 1,
                                            signature, &bytes);
}

/* ---- forks ---- */

static int child(CK_SESSION_HANDLE session)
{
    CK_SESSION_INFO info;

    if (token.p11->C_GetSessionInfo(session, &info) !=
        CKR_CRYPTOKI_NOT_INITIALIZED)
        return 1;
    if (token.p11->C_Finalize(NULL) != CKR_CRYPTOKI_NOT_INITIALIZED)
        return 2;
    for (unsigned i = 0; i < 2; i++) {
        if (token.p11->C_Initialize(test_token_arguments(PATIENT_MS)) != CKR_OK)
            return 3;
        session = test_token_session();
        if (sign(session, test_token_private(session, "raw")) != CKR_OK)
            return 4;
        if (token.p11->C_Finalize(NULL) != CKR_OK)
            return 5;
    }
    return 0;
}

TEST_IN(forked_child, test_token_begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();
    const CK_OBJECT_HANDLE key = test_token_private(session, "raw");
    pid_t pid = 0;
    int status = -1;

    assert_int_equal(sign(session, key), CKR_OK);
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(child(session));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    /* The parent's session is as it was. */
    assert_int_equal(sign(session, key), CKR_OK);
}

/* The slot's description is UTF-8: of a socket's path that is too long for it,
 * no character is cut. */
TEST(description_of_a_long_path)
{
    CK_C_INITIALIZE_ARGS arguments = {0};
    CK_SLOT_INFO info;
    char text[150] = "socket=/", expected[65];

    for (unsigned i = 0; i < 40; i++)
        strcat(text, "\xc3\xa4");
    arguments.pReserved = text;
    snprintf(expected, sizeof(expected), "%.63s ", text + strlen("socket="));
    assert_int_equal(token.p11->C_Initialize(&arguments), CKR_OK);
    assert_int_equal(token.p11->C_GetSlotInfo(0, &info), CKR_OK);
    assert_memory_equal(info.slotDescription, expected, 64);
    assert_int_equal(token.p11->C_Finalize(NULL), CKR_OK);
}

/* ---- the daemon away ---- */

TEST_IN(daemon_away, NULL, NULL)
{
    CK_SESSION_HANDLE session;
    CK_OBJECT_HANDLE key;

    assert_int_equal(token.p11->C_Initialize(test_token_arguments(SHORT_MS)),
                     CKR_OK);
    session = test_token_session();
    WAIT_UNTIL((key = test_token_private(session, "raw")) != CK_INVALID_HANDLE);
    WAIT_UNTIL(sign(session, key) == CKR_OK);
    test_token_stop_daemon();
    /* Keys are remembered, and uses fail after their deadline. */
    assert_int_equal(test_token_private(session, "raw"), key);
    assert_int_equal(sign(session, key), CKR_DEVICE_ERROR);
    test_token_start_daemon();
    WAIT_UNTIL(sign(session, key) == CKR_OK);
    assert_int_equal(token.p11->C_Finalize(NULL), CKR_OK);
}

/* Without a daemon from the start nothing is known, and that is an error. */
TEST_IN(no_daemon, NULL, NULL)
{
    CK_C_INITIALIZE_ARGS arguments = {
        .pReserved = "deadline_ms=1 socket=/nowhere/socket"};
    CK_SESSION_HANDLE session;

    assert_int_equal(token.p11->C_Initialize(&arguments), CKR_OK);
    session = test_token_session();
    assert_int_equal(token.p11->C_FindObjectsInit(session, NULL, 0),
                     CKR_DEVICE_ERROR);
    assert_int_equal(token.p11->C_Finalize(NULL), CKR_OK);
}

/* ---- the end, while operations are under way ---- */

typedef struct signer {
    CK_SESSION_HANDLE session;
    CK_OBJECT_HANDLE key;
    atomic_uint signatures;
    CK_RV last;
} signer;

static void *sign_until_the_end(void *arg)
{
    signer *s = arg;

    while ((s->last = sign(s->session, s->key)) == CKR_OK)
        atomic_fetch_add(&s->signatures, 1);
    return NULL;
}

/* A call ends the signatures of another thread, which get this error. */
static void stop_by(CK_RV (*stop)(void), CK_RV error)
{
    CK_SESSION_HANDLE session = test_token_session();
    signer s = {session, test_token_private(session, "raw"), 0, CKR_OK};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, sign_until_the_end, &s), 0);
    WAIT_UNTIL(atomic_load(&s.signatures) > 3);
    assert_int_equal(stop(), CKR_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(s.last, error);
}

static CK_RV finalize(void)
{
    return token.p11->C_Finalize(NULL);
}

TEST_IN(finalized_under_way, test_token_begin, NULL)
{
    stop_by(finalize, CKR_CRYPTOKI_NOT_INITIALIZED);
}

/* Threads that initialise, call and finalize as they like see errors alone. */
static void *come_and_go(void *arg)
{
    CK_SESSION_HANDLE session;
    CK_INFO info;

    for (unsigned i = 0; i < ROUNDS; i++) {
        CK_RV rv = token.p11->C_Initialize(arg);

        if (rv != CKR_OK && rv != CKR_CRYPTOKI_ALREADY_INITIALIZED)
            return arg;
        (void)token.p11->C_GetInfo(&info);
        (void)token.p11->C_OpenSession(0, CKF_SERIAL_SESSION, NULL, NULL,
                                       &session);
        rv = token.p11->C_Finalize(NULL);
        if (rv != CKR_OK && rv != CKR_CRYPTOKI_NOT_INITIALIZED)
            return arg;
    }
    return NULL;
}

TEST(threads_that_come_and_go)
{
    CK_C_INITIALIZE_ARGS *arguments = test_token_arguments(PATIENT_MS);
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, come_and_go, arguments), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        void *failed = NULL;

        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(token.p11->C_Finalize(NULL), CKR_CRYPTOKI_NOT_INITIALIZED);
}

static atomic_int drawn, may_end;

/* Has used all that draws random numbers, and ends after C_Finalize. */
static void *ends_late(void *arg)
{
    const CK_SESSION_HANDLE session = test_token_session();
    CK_MECHANISM pkcs1 = {CKM_RSA_PKCS, NULL, 0};
    CK_BYTE bytes[256];
    CK_ULONG count = sizeof(bytes);

    (void)arg;
    if (token.p11->C_GenerateRandom(session, bytes, 64) == CKR_OK &&
        token.p11->C_EncryptInit(session, &pkcs1,
                                 test_token_public(session, "www")) == CKR_OK &&
        token.p11->C_Encrypt(session, bytes, 32, bytes, &count) == CKR_OK)
        atomic_store(&drawn, 1);
    else
        atomic_store(&drawn, -1);
    while (!atomic_load(&may_end))
        sched_yield();
    return NULL;
}

/* libcrypto has nothing to do with a library context that is gone. */
TEST_IN(a_thread_that_ends_late, test_token_begin, NULL)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, ends_late, NULL), 0);
    while (atomic_load(&drawn) == 0)
        sched_yield();
    assert_int_equal(atomic_load(&drawn), 1);
    assert_int_equal(token.p11->C_Finalize(NULL), CKR_OK);
    atomic_store(&may_end, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static CK_RV close_all_sessions(void)
{
    return token.p11->C_CloseAllSessions(0);
}

TEST_IN(sessions_closed_under_way, test_token_begin, test_token_end)
{
    stop_by(close_all_sessions, CKR_SESSION_HANDLE_INVALID);
}

/* Loaded twice, it is one; and what dlclose() leaves can be used again. */
TEST_IN(loaded_twice, test_token_begin, test_token_end)
{
    char path[512];
    void *again = NULL;

    snprintf(path, sizeof(path), "%s/pkcs11/warprsa-pkcs11.so",
             getenv("BUILD_DIR"));
    again = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_ptr_equal(again, token.module);
    assert_int_equal(token.p11->C_Initialize(NULL),
                     CKR_CRYPTOKI_ALREADY_INITIALIZED);
    assert_int_equal(dlclose(again), 0);
    (void)test_token_session();
}

RUN_TESTS(test_token_begin_group, test_token_end_group)
