/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The control of gpu/arith/bound.h: in a build with assertions each step below
 * runs with numbers at its bound, and is ended, by the name of the bound, with
 * numbers beyond it. Built once for each arithmetic, and with
 * WARPRSA_TEST_IFMA for that of the engine "ifma".
 */
#include <fenv.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support/unit_test.h"

#ifdef WARPRSA_TEST_IFMA
#define WARPRSA_IFMA_PORTABLE
#include "gpu/ifma/mont_mul.h"
#else
#include "gpu/arith/private_operation.h"
#ifdef WARPRSA_BLOCK_ARITH
#include "gpu/kernels/narrow_fold/narrow.h"
#elif defined(WARPRSA_INT32)
#include "gpu/kernels/int32_fold/int_fold.h"
#else
#include "gpu/kernels/fold/fold.h"
#include "gpu/kernels/thread/thread_modexp.h"
#endif
#endif

/* A step of the arithmetic, at its bound or beyond it. */
typedef struct step {
    const char *lemma;
    void (*take)(int beyond);
} step;

#ifdef WARPRSA_TEST_IFMA
static void columns_of_eight(int beyond)
{
    warprsa_vector t[11] = {{0}}, r[10];
    warprsa_vector_modulus m = {.n0inv = {0}};

    t[3] = warprsa_broadcast_lane((1ull << 61) - !beyond);
    warprsa_last_row(r, t, &m, 10);
}
#else
static void columns_to_normalise(int beyond)
{
    warprsa_columns s = {{{(1ull << 62) - !beyond}}};
    warprsa_number r;
    int64_t over[WARPRSA_LANES_EMULATED];

    warprsa_normalise(&r, &s, over, 1, 5, 1);
}

static void sum_of_four_primes(int beyond)
{
    warprsa_number a = {{{0}}}, p = {{{0}}};

    p.of[0][0] = 5;
    a.of[0][0] = beyond ? 20 : 19;
    warprsa_reduce(&a, &a, &p, 1, 5, 1);
}

/* 32P is below R or not. */
static void product_by_rows(int beyond)
{
    const int top = WARPRSA_SAMPLE_BITS - (beyond ? 1 : 6);
    warprsa_number a = {{{0}}};
    warprsa_modulus m = {.p = {{{1}}}};

    m.p.of[0][4] = (warprsa_sample_t)(1ull << top);
    m.n0inv[0] = (warprsa_sample_t)WARPRSA_SAMPLE_MASK;
    a.of[0][4] = 1;
#ifdef WARPRSA_INT32
    warprsa_mont_mul(&a, &a, &a, &m, 5, 1, 5, 1);
#else
    warprsa_mont_mul_by_rows(&a, &a, &a, &m, 5, 1, 5, 1);
#endif
}
#endif

#if !defined(WARPRSA_INT32) && !defined(WARPRSA_TEST_IFMA)
static void sample_of_2_52(int beyond)
{
    uint64_t s[2] = {0};
    double v = beyond ? 0x1p52 + 1 : 0x1p52;

    warprsa_row(s, v, &v, 1);
}

static void sample_that_is_no_integer(int beyond)
{
    uint64_t s[2] = {0};
    double v = beyond ? 1.5 : 1;

    warprsa_row(s, v, &v, 1);
}
#endif

#ifdef WARPRSA_BLOCK_ARITH
static void signed_sample(int beyond)
{
    uint64_t s[2] = {0};
    double v = 0x1p51 + 0x1p7 + beyond;

    warprsa_signed_row(s, v, &v, 1);
}

static void block_of_samples(int beyond)
{
    const double x[4] = {beyond ? 0x1.3p51 : 0x1.2p51}, y[4] = {-0x1p51};
    uint64_t s[8] = {0};

    warprsa_narrow_block(s, x, y, 4, 4);
}

static void two_digits(int beyond)
{
    uint8_t low[8], high[8];

    warprsa_narrow_put_word(low, high, 0, 0, (1u << 24) - !beyond, 0, 0);
}
#elif !defined(WARPRSA_INT32) && !defined(WARPRSA_TEST_IFMA)
static void balanced_number(int beyond)
{
    double x[10] = {0};

    x[9] = beyond ? 0x1p51 : 0x1p50;
    warprsa_balance(x, x, 1, 1, 10);
}

static void digit_sums(int beyond)
{
    const uint32_t d[WARPRSA_FOLD_DIGITS] = {0, (1u << 24) - !beyond};
    uint32_t over = 0;

    (void)warprsa_fold_join(d, &over, 20);
}

static void largest_column(int beyond)
{
    uint64_t s[40] = {[38] = 1ull << 56};

    s[25] = (63ull << 52) + (uint64_t)beyond;
    warprsa_fold_top(s, 20);
}

static void top_of_a_difference(int beyond)
{
    double a[20] = {0}, d[10];

    a[19] = beyond ? 0x1.8p51 : 0x1.6p51;
    warprsa_fold_difference(d, a, 10);
}

static void short_prime(int beyond)
{
    double a[20] = {1}, p[20] = {1};

    p[19] = beyond ? 0x1p10 : 0x1p11;
    warprsa_fold_reduce(a, p, 20);
}
#endif

#ifdef WARPRSA_INT32
static void end_of_a_chain(int beyond)
{
    warprsa_carry carry = {(uint32_t)beyond};

    (void)warprsa_last_addc(&carry, UINT32_MAX, 0);
}

static void twice_a_prime(int beyond)
{
    const warprsa_int_fold_prime prime = {{{5}}, 0, {0}};
    uint32_t x[32] = {beyond ? 10 : 9};

    warprsa_int_fold_reduce(x, &prime, 32);
}

static void number_of_a_row(int beyond)
{
    const warprsa_int_fold_prime prime = {
        {{5}}, warprsa_int_fold_negative_inverse(5), {0}};
    uint32_t x[32] = {4, (uint32_t)beyond};

    warprsa_int_fold_lower(x, &prime, 8, 32);
}
#endif

static const step steps[] = {
#ifdef WARPRSA_TEST_IFMA
    {"Eight numbers at once: Columns", columns_of_eight},
#else
    {"Exact carries", columns_to_normalise},
    {"Exact carries", sum_of_four_primes},
#ifdef WARPRSA_INT32
    {"Limbs of 32 bits: Bound", product_by_rows},
    {"The fold in integers: Chains", end_of_a_chain},
    {"The fold in integers: Result", twice_a_prime},
    {"The fold in integers: The rows of the matrix", number_of_a_row},
#else
    {"Montgomery multiplication by rows: Bound", product_by_rows},
    {"A product of two samples in two halves", sample_of_2_52},
    {"A product of two samples in two halves", sample_that_is_no_integer},
#endif
#endif
#ifdef WARPRSA_BLOCK_ARITH
    {"Blocks of rows: Signed samples", signed_sample},
    {"The narrow fold: Halves", block_of_samples},
    {"The narrow fold: Digit sums", two_digits},
#elif !defined(WARPRSA_INT32) && !defined(WARPRSA_TEST_IFMA)
    {"Balanced samples, one thread a number: Bounds", balanced_number},
    {"The fold: no Montgomery form: Digit sums fit 32 bits", digit_sums},
    {"Karatsuba's step: The largest column", largest_column},
    {"Karatsuba's step: Differences", top_of_a_difference},
    {"The fold: no Montgomery form: The end", short_prime},
#endif
};

/* Takes a step in a child; returns how that ended, and what it has said. */
static int end_of(const step *s, int beyond, char *said, size_t size)
{
    size_t length = 0;
    ssize_t got;
    int fds[2], status;
    pid_t child;

    assert_int_equal(pipe(fds), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (dup2(fds[1], STDERR_FILENO) < 0 ||
            signal(SIGABRT, SIG_DFL) == SIG_ERR)
            _exit(2);
        s->take(beyond);
        _exit(0);
    }
    close(fds[1]);
    while ((got = read(fds[0], said + length, size - 1 - length)) > 0)
        length += (size_t)got;
    said[length] = '\0';
    close(fds[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

TEST(broken_bounds_abort)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        char said[1000];
        int status = end_of(&steps[i], 0, said, sizeof(said));

        print_message("%s\n", steps[i].lemma);
        assert_string_equal(said, "");
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        status = end_of(&steps[i], 1, said, sizeof(said));
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        print_message("%s", said);
        assert_non_null(strstr(said, steps[i].lemma));
        assert_non_null(strstr(said, "broken bound"));
    }
}

int main(void)
{
    if (fesetround(FE_TOWARDZERO) != 0)
        return 1;
    return cmocka_run_group_tests(unit_tests, NULL, NULL);
}
