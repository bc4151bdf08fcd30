/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process that may create no more threads (haproxy sets RLIMIT_NPROC for
 * itself), simulated by a pthread_create() that fails.
 */
#include <errno.h>
#include <pthread.h>

#include "tests/unit/support/provider_support.h"

static unsigned refused;

/* The linker finds this one before libc's. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*start)(void *), void *arg)
{
    (void)thread, (void)attributes, (void)start, (void)arg;
    refused++;
    return EAGAIN;
}

static void on_the_cpu(void **state)
{
    OSSL_LIB_CTX *subject = subject_open("engine = host\nroute = gpu\n");
    EVP_PKEY *key = key_make(NULL, "RSA", 1024, 2);
    EVP_PKEY *copy = key_in(subject, key);

    (void)state;
    assert_int_equal(refused, 0); /* none is wanted at load */
    for (unsigned i = 0; i < 3; i++)
        assert_true(signs_right(subject, copy, key));
    assert_counted(subject, 0, 3);
    assert_int_equal(counter_of(subject, "warprsa-cpu-error"), 3);
    assert_true(refused > 0);
    EVP_PKEY_free(copy);
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_the_cpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
