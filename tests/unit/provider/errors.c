/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Errors on their way from our libcrypto's queue to the caller's, which is a
 * list here: all of them arrive, and our queue is as it was before.
 */
#include "tests/unit/support/unit_test.h"

#include <string.h>

#include <openssl/err.h>
#include <openssl/rsa.h>

#include "provider/errors.h"

static unsigned long raised[8];
static unsigned raised_count;

static void new_error(const OSSL_CORE_HANDLE *handle)
{
}

static void set_error_debug(const OSSL_CORE_HANDLE *handle, const char *file,
                            int line, const char *function)
{
    (void)handle, (void)file, (void)line, (void)function;
}

static void vset_error(const OSSL_CORE_HANDLE *handle, uint32_t code,
                       const char *format, va_list args)
{
    (void)handle, (void)format, (void)args;
    assert_true(raised_count < sizeof(raised) / sizeof(raised[0]));
    raised[raised_count++] = code;
}

/* The provider's, as far as it matters here. */
static const warprsa_context context = {
    .core = {.new_error = new_error,
             .set_error_debug = set_error_debug,
             .vset_error = vset_error},
};

static int setup(void **state)
{
    ERR_clear_error();
    raised_count = 0;
    return 0;
}

/* A call of our libcrypto that raises these errors, 0: fewer. */
static void call(bool ok, int first, int second)
{
    warprsa_errors before = warprsa_errors_begin(&context);

    if (first != 0)
        ERR_raise(ERR_LIB_RSA, first);
    if (second != 0)
        ERR_raise(ERR_LIB_RSA, second);
    warprsa_errors_end(&context, before, ok);
}

static void assert_raised(unsigned place, int reason)
{
    assert_true(place < raised_count);
    assert_int_equal(ERR_GET_LIB(raised[place]), ERR_LIB_RSA);
    assert_int_equal(ERR_GET_REASON(raised[place]), reason);
}

/* Takes one error off our queue. */
static void assert_next_is(int reason)
{
    unsigned long code = ERR_get_error();

    assert_int_equal(ERR_GET_LIB(code), ERR_LIB_RSA);
    assert_int_equal(ERR_GET_REASON(code), reason);
}

TEST_IN(all_errors_of_a_call_arrive, setup, NULL)
{
    call(false, RSA_R_BAD_SIGNATURE, RSA_R_PADDING_CHECK_FAILED);
    assert_int_equal(raised_count, 2);
    assert_raised(0, RSA_R_BAD_SIGNATURE);
    assert_raised(1, RSA_R_PADDING_CHECK_FAILED);
    assert_int_equal(ERR_peek_error(), 0);
}

TEST_IN(a_success_raises_nothing, setup, NULL)
{
    call(true, RSA_R_BAD_SIGNATURE, 0);
    assert_int_equal(raised_count, 0);
    assert_int_equal(ERR_peek_error(), 0);
    ERR_raise(ERR_LIB_RSA, RSA_R_BAD_E_VALUE);
    call(true, RSA_R_BAD_SIGNATURE, 0);
    assert_int_equal(raised_count, 0);
    assert_next_is(RSA_R_BAD_E_VALUE);
    assert_int_equal(ERR_peek_error(), 0);
}

/* Errors of somebody else, who uses our libcrypto as well. */
TEST_IN(the_last_one_arrives_where_there_were_others, setup, NULL)
{
    ERR_raise(ERR_LIB_RSA, RSA_R_BAD_E_VALUE);
    ERR_raise(ERR_LIB_RSA, RSA_R_BAD_SIGNATURE);
    call(false, RSA_R_PADDING_CHECK_FAILED, 0);
    call(false, RSA_R_BAD_SIGNATURE, 0); /* the same as the last one before */
    call(false, RSA_R_BAD_E_VALUE, RSA_R_BAD_SIGNATURE);
    call(false, 0, 0);
    assert_int_equal(raised_count, 3);
    assert_raised(0, RSA_R_PADDING_CHECK_FAILED);
    assert_raised(1, RSA_R_BAD_SIGNATURE);
    assert_raised(2, RSA_R_BAD_SIGNATURE);
    assert_next_is(RSA_R_BAD_E_VALUE);
    assert_next_is(RSA_R_BAD_SIGNATURE);
    assert_int_equal(ERR_peek_error(), 0);
}

RUN_TESTS(NULL, NULL)
