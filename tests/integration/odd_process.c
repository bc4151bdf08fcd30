/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program that signs, and does to its own process what programs do:
 *
 *     odd_process limit KEY NAME VALUE
 *                             under a limit: fsize, nofile or memlock; as: so
 *                             many KiB more than now
 *     odd_process closed KEY  after it has closed all descriptors, and opened
 *                             its own; also with a job under way meanwhile
 *     odd_process no_stdio KEY
 *                             without standard input, output and error, which
 *                             it uses all the same
 *     odd_process cancel KEY  in a thread that is to be cancelled, where that
 *                             one has the first operation and where it has
 *                             not; jobs that pause leave their thread as it was
 *     odd_process random KEY  with a random generator of its own, whose lock
 *                             its handlers of fork() take, in many threads,
 *                             while it forks
 *     odd_process bare KEY    in a child that was made without fork()'s
 *                             handlers
 *     odd_process secure KEY BYTES
 *                             with a secure heap of this size
 *     odd_process stack KEY   prints how many bytes of its stack a new thread
 *                             needs for its first signature
 *
 * Exit status 0: as it should be. Each signature is verified. The last line,
 * "engine=N", is how many were computed on a device, if the program has an
 * output.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/async.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/rand.h>

enum {
    SIGNATURES = 3,
    FILES = 40, /* more than descriptors that anybody else had */
    JOBS = 50,
    THREADS = 6,
    FORKS = 200,
    STACK = 512 * 1024,
};

static const unsigned char message[32] = "a message";
static EVP_PKEY *key;

/* ---- What all share ---- */

__attribute__((noreturn)) static void fail(const char *what)
{
    fprintf(stderr, "odd_process: %s\n", what);
    _exit(1);
}

static void read_key(const char *name)
{
    FILE *file = fopen(name, "r");

    if (file == NULL ||
        (key = PEM_read_PrivateKey(file, NULL, NULL, NULL)) == NULL)
        fail("no key");
    fclose(file);
}

static bool sign(void)
{
    unsigned char signature[1024];
    size_t length = sizeof(signature);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok =
        EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
        EVP_DigestSign(ctx, signature, &length, message, sizeof(message)) == 1;

    EVP_MD_CTX_free(ctx);
    ctx = EVP_MD_CTX_new();
    ok =
        ok && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
        EVP_DigestVerify(ctx, signature, length, message, sizeof(message)) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}

static void sign_some(void)
{
    for (int i = 0; i < SIGNATURES; i++)
        if (!sign())
            fail("a signature failed");
}

static uint64_t counter(const char *name)
{
    uint64_t value = 0;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint64(name, &value),
                           OSSL_PARAM_construct_end()};
    OSSL_PROVIDER *provider = OSSL_PROVIDER_available(NULL, "warprsa")
                                  ? OSSL_PROVIDER_load(NULL, "warprsa")
                                  : NULL;

    if (provider != NULL) {
        OSSL_PROVIDER_get_params(provider, params);
        OSSL_PROVIDER_unload(provider);
    }
    return value;
}

static uint64_t on_device(void)
{
    return counter("warprsa-gpu") + counter("warprsa-ifma");
}

/* ---- Limits ---- */

static rlim_t kib_now(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL || fscanf(file, "%lu", &pages) != 1)
        fail("no /proc/self/statm");
    fclose(file);
    return pages * (rlim_t)sysconf(_SC_PAGESIZE) / 1024;
}

static void limit(const char *name, rlim_t value)
{
    static const struct {
        const char *name;
        int resource;
    } list[] = {
        {"fsize", RLIMIT_FSIZE},
        {"nofile", RLIMIT_NOFILE},
        {"memlock", RLIMIT_MEMLOCK},
        {"as", RLIMIT_AS},
    };
    struct rlimit wanted;

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        if (strcmp(list[i].name, name) != 0)
            continue;
        if (list[i].resource == RLIMIT_AS)
            value = (value + kib_now()) * 1024;
        wanted = (struct rlimit){value, value};
        if (setrlimit(list[i].resource, &wanted) != 0)
            fail("no such limit");
        sign_some();
        return;
    }
    fail("no limit of this name");
}

/* ---- Descriptors ---- */

static int files[FILES];
static struct stat stats[FILES];

static void open_files(void)
{
    for (int i = 0; i < FILES; i++) {
        files[i] = open(".", O_TMPFILE | O_RDWR, 0600);
        if (files[i] < 0 || fstat(files[i], &stats[i]) != 0)
            fail("no file");
    }
}

/* Says what somebody has written to a file of the program's. */
__attribute__((noreturn)) static void fail_of_written(int i, off_t size)
{
    unsigned char bytes[64];
    ssize_t got = pread(files[i], bytes, sizeof(bytes), 0);

    fprintf(stderr, "odd_process: descriptor %d, %lld bytes:", files[i],
            (long long)size);
    for (ssize_t j = 0; j < got; j++)
        fprintf(stderr, " %02x", bytes[j]);
    fputc('\n', stderr);
    fail("a file of the program's was written to");
}

/* They are still there, and nobody has written to them. */
static void check_files(void)
{
    for (int i = 0; i < FILES; i++) {
        struct stat now;

        if (fstat(files[i], &now) != 0 || now.st_ino != stats[i].st_ino)
            fail("a file of the program's was closed");
        if (now.st_size != 0)
            fail_of_written(i, now.st_size);
    }
}

static int sign_job(void *arg)
{
    (void)arg;
    return sign();
}

/* With a job that pauses before everything is closed, and ends afterwards. */
static void close_under_a_job(void)
{
    ASYNC_WAIT_CTX *wait_ctx = ASYNC_WAIT_CTX_new();
    ASYNC_JOB *job = NULL;
    int done = 0;
    int status = ASYNC_start_job(&job, wait_ctx, &done, sign_job, NULL, 0);

    closefrom(STDERR_FILENO + 1);
    open_files();
    while (status == ASYNC_PAUSE)
        status = ASYNC_start_job(&job, wait_ctx, &done, sign_job, NULL, 0);
    if (status != ASYNC_FINISH || done != 1)
        fail("a job failed");
    ASYNC_WAIT_CTX_free(wait_ctx);
    check_files();
}

static void closed(void)
{
    sign_some();
    close_under_a_job();
    sign_some();
    check_files();
}

static void no_stdio(const char *key_name)
{
    char byte;
    int fd;

    for (fd = 0; fd <= STDERR_FILENO; fd++)
        close(fd);
    OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL);
    read_key(key_name);
    for (int i = 0; i < SIGNATURES; i++) {
        if (!sign())
            _exit(1);
        dprintf(STDOUT_FILENO, "a line of output\n");
        dprintf(STDERR_FILENO, "a line of errors\n");
        for (fd = 0; fd <= STDERR_FILENO; fd++)
            if (fcntl(fd, F_GETFD) >= 0)
                _exit(2);
        if (read(STDIN_FILENO, &byte, 1) > 0)
            _exit(3);
    }
    if (counter("warprsa-cpu") + on_device() > SIGNATURES)
        _exit(4);
}

/* ---- Threads and forks ---- */

static void *sign_cancelled(void *arg)
{
    (void)arg;
    pthread_cancel(pthread_self());
    sign();
    pthread_testcancel();
    return NULL;
}

static void cancel_a_thread(void)
{
    pthread_t thread;
    void *result = NULL;

    if (pthread_create(&thread, NULL, sign_cancelled, NULL) != 0 ||
        pthread_join(thread, &result) != 0 || result != PTHREAD_CANCELED)
        fail("the thread was not cancelled");
}

static void check_cancellation(void)
{
    int before = -1;

    if (pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before) != 0 ||
        before != PTHREAD_CANCEL_ENABLE)
        fail("cancellation is off in the program's own code");
}

/* While a job pauses, its thread can be cancelled. */
static void jobs_pause(void)
{
    ASYNC_WAIT_CTX *wait_ctx = ASYNC_WAIT_CTX_new();

    for (int i = 0; i < JOBS; i++) {
        ASYNC_JOB *job = NULL;
        int done = 0, status;

        do {
            status = ASYNC_start_job(&job, wait_ctx, &done, sign_job, NULL, 0);
            check_cancellation();
        } while (status == ASYNC_PAUSE);
        if (status != ASYNC_FINISH || done != 1)
            fail("a job failed");
    }
    ASYNC_WAIT_CTX_free(wait_ctx);
}

static void cancel(void)
{
    cancel_a_thread();
    sign_some();
    cancel_a_thread();
    sign_some();
    jobs_pause();
    check_cancellation();
}

static pthread_mutex_t random_lock = PTHREAD_MUTEX_INITIALIZER;

static void take_random(void)
{
    pthread_mutex_lock(&random_lock);
}

static void give_random(void)
{
    pthread_mutex_unlock(&random_lock);
}

static int random_bytes(unsigned char *out, int length)
{
    static uint64_t state = 1;

    take_random();
    for (int i = 0; i < length; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        out[i] = (unsigned char)(state >> 56);
    }
    usleep(1000); /* as long as a device takes */
    give_random();
    return 1;
}

static int random_status(void)
{
    return 1;
}

static void *sign_always(void *arg)
{
    for (;;)
        if (!sign())
            fail("a thread's signature failed");
    return arg;
}

static void random_and_forks(void)
{
    static const RAND_METHOD method = {
        .bytes = random_bytes,
        .pseudorand = random_bytes,
        .status = random_status,
    };
    pthread_t thread;

    sign_some();
    if (RAND_set_rand_method(&method) != 1 ||
        pthread_atfork(take_random, give_random, give_random) != 0)
        fail("no random method");
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, sign_always, NULL) != 0)
            fail("no thread");
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        pid_t child = fork();

        if (child == 0)
            _exit(0);
        if (waitpid(child, &status, 0) != child || status != 0)
            fail("a child failed");
        usleep(1000);
    }
}

/* As fork(), but nobody's handlers run. */
static pid_t fork_bare(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void bare(void)
{
    int status = -1;
    pid_t child;

    sign_some();
    child = fork_bare();
    if (child == 0) {
        sign_some();
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("the child failed");
    sign_some();
}

/* ---- Memory ---- */

static void *sign_once(void *arg)
{
    return sign() ? arg : NULL;
}

/* How many bytes of a new thread's stack it takes, a page at least. */
static size_t stack_used(void *(*run)(void *))
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *done = NULL;
    size_t at = 0;
    unsigned char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

    if (stack == MAP_FAILED)
        fail("no stack");
    memset(stack, 0xa5, STACK);
    if (pthread_attr_init(&attributes) != 0 ||
        pthread_attr_setstack(&attributes, stack, STACK) != 0 ||
        pthread_create(&thread, &attributes, run, stack) != 0 ||
        pthread_join(thread, &done) != 0 || done == NULL)
        fail("no thread with a stack");
    while (at < STACK && stack[at] == 0xa5)
        at++;
    pthread_attr_destroy(&attributes);
    munmap(stack, STACK);
    return STACK - at;
}

static void stack(void)
{
    for (int i = 0; i < SIGNATURES; i++)
        printf("%zu\n", stack_used(sign_once));
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";

    if (strcmp(what, "no_stdio") == 0) {
        no_stdio(argv[2]);
        return 0;
    }
    if (strcmp(what, "secure") == 0 && argc == 4 &&
        CRYPTO_secure_malloc_init((size_t)atol(argv[3]), 16) == 0)
        fail("no secure heap");
    if (argc > 2)
        read_key(argv[2]);
    if (strcmp(what, "limit") == 0 && argc == 5)
        limit(argv[3], (rlim_t)atol(argv[4]));
    else if (strcmp(what, "closed") == 0)
        closed();
    else if (strcmp(what, "cancel") == 0)
        cancel();
    else if (strcmp(what, "random") == 0)
        random_and_forks();
    else if (strcmp(what, "bare") == 0)
        bare();
    else if (strcmp(what, "secure") == 0)
        sign_some();
    else if (strcmp(what, "stack") == 0)
        stack();
    else
        fail("what?");
    printf("engine=%llu\n", (unsigned long long)on_device());
    fflush(stdout);
    if (strcmp(what, "random") == 0)
        _exit(0); /* its threads go on */
    EVP_PKEY_free(key);
    return 0;
}
