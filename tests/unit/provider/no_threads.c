/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process that may create no more threads, or too few (haproxy sets
 * RLIMIT_NPROC for itself, and dovecot does so for its login processes),
 * simulated by a pthread_create() that fails.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/support/provider_support.h"

enum {
    OPERATIONS = 3,
};

static unsigned allowed, refused;
static char trace[] = "/tmp/warprsa-no-threads.XXXXXX";

/* A sanitizer's, which has to know each thread; null without one. */
extern int __interceptor_pthread_create(pthread_t *, const pthread_attr_t *,
                                        void *(*)(void *), void *)
    __attribute__((weak));

/* The linker finds this one before libc's. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*start)(void *), void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    if (allowed > 0) {
        allowed--;
        real = __interceptor_pthread_create;
        if (real == NULL)
            *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
        return real(thread, attributes, start, arg);
    }
    refused++;
    return EAGAIN;
}

/* How many lines of the trace have this in them. */
static unsigned traced(const char *what)
{
    FILE *file = fopen(trace, "r");
    char line[8192];
    unsigned lines = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        lines += strstr(line, what) != NULL;
    assert_int_equal(fclose(file), 0);
    return lines;
}

/* With so many threads allowed, all operations run on the CPU, for a reason of
 * their own, and one line of the trace says so. No device is opened in vain. */
static void on_the_cpu(unsigned threads)
{
    char settings[128];
    int fd = mkstemp(trace);
    OSSL_LIB_CTX *subject;
    EVP_PKEY *key, *copy;

    assert_true(fd >= 0);
    close(fd);
    snprintf(settings, sizeof(settings),
             "engine = host\nroute = gpu\ntrace = file:%s\n", trace);
    subject = subject_open(settings);
    key = key_make(NULL, "RSA", 1024, 2);
    copy = key_in(subject, key);
    allowed = threads;
    refused = 0;
    for (unsigned i = 0; i < OPERATIONS; i++)
        assert_true(signs_right(subject, copy, key));
    assert_int_equal(refused, 1);
    assert_counted(subject, 0, OPERATIONS);
    assert_int_equal(counter_of(subject, "warprsa-cpu-no-threads"), OPERATIONS);
    EVP_PKEY_free(copy);
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(subject);
    assert_int_equal(traced("operations run on the CPU: no threads"), 1);
    assert_int_equal(traced("device 0"), 0);
    unlink(trace);
    memset(strchr(trace, '.') + 1, 'X', 6);
}

TEST(no_thread_at_all)
{
    on_the_cpu(0);
}

TEST(fewer_threads_than_streams)
{
    on_the_cpu(3);
}

RUN_TESTS(NULL, NULL)
