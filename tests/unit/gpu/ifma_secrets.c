/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests under valgrind that the arithmetic of the engine "ifma" neither
 * branches on secrets nor addresses memory by them. Valgrind has no AVX-512:
 * what runs here is the same source compiled to plain C, the kernel "ifma" of
 * the host engine. The key's secret numbers, the inputs and the random words
 * are marked as not initialised; memcheck follows every bit that is computed
 * from them, and counts an error for each branch or address that depends on
 * one.
 *
 * Controls: a branch on a secret digit and a read at a secret place are each
 * found, and the marks reach the results.
 *
 * Two size classes, one whose numbers are one tile and one of two; with --all
 * every one that is not large. Compiled with WARPRSA_LARGE both large ones: of
 * their operations what repeats is cut short, since valgrind would take hours,
 * to two windows of the exponents and 3 as the public exponent. The result is
 * wrong then, and the operation's own check must say so. The first class is
 * also computed with blinding that is kept from one batch to the next.
 *
 * Results that others have computed are checked, too, with keys of each class
 * that is not large: there it is the inputs and the results that are marked.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <valgrind/memcheck.h>

#include "gpu/arith/prepared_key.h"
#include "gpu/kernels/host_arithmetic.h"
#define WARPRSA_IFMA_PORTABLE
#include "gpu/ifma/limbs.h"
#include "gpu/ifma/public_key.h"
#include "gpu/known_answer.h"

enum {
    SKIPPED = 77, /* exit status */
    REQUESTS = WARPRSA_IFMA_LANES,
    FEW = 3,       /* the other lanes repeat the first */
    MARKED_OK = 1, /* of VALGRIND_GET_VBITS */
    SHORT_WINDOWS = 2,
#ifdef WARPRSA_LARGE
    LARGE = 1,
    FIRST = WARPRSA_CLASS_LARGE,
    END = WARPRSA_CLASSES,
#else
    LARGE = 0,
    FIRST = 0,
    END = WARPRSA_CLASS_LARGE,
#endif
};

typedef struct operands {
    warprsa_prepared_key key;
    uint8_t input[WARPRSA_MODULUS_BYTES_MAX];
    uint64_t random[WARPRSA_RANDOM_WORDS];
    warprsa_host_request requests[REQUESTS];
} operands;

static int failures;

static const warprsa_host_arithmetic *arithmetic(void)
{
    return LARGE ? warprsa_host_ifma.large : &warprsa_host_ifma;
}

/* What aligned_alloc() takes for so many bytes. */
static size_t aligned(size_t bytes)
{
    return (bytes + WARPRSA_HOST_ALIGNMENT - 1) / WARPRSA_HOST_ALIGNMENT *
           WARPRSA_HOST_ALIGNMENT;
}

static void expect(int right, const char *what, int size)
{
    printf("%s: class %d: %s\n", right ? "ok" : "WRONG", size, what);
    failures += !right;
}

/* All but lengths, the modulus and the public exponent. */
static void mark_secrets(operands *o)
{
    for (int which = 0; which < 2; which++)
        VALGRIND_MAKE_MEM_UNDEFINED(&o->key.half[which],
                                    offsetof(warprsa_prepared_half, bits));
    VALGRIND_MAKE_MEM_UNDEFINED(o->key.qinv_r, sizeof(o->key.qinv_r));
    VALGRIND_MAKE_MEM_UNDEFINED(o->key.q_r, sizeof(o->key.q_r));
    VALGRIND_MAKE_MEM_UNDEFINED(o->input, sizeof(o->input));
    VALGRIND_MAKE_MEM_UNDEFINED(o->random, sizeof(o->random));
}

/* Known keys and answers, as in gpu/known_answer.c. */
static int prepare(operands *o, int size)
{
    warprsa_private_key key;

    for (size_t i = 0; i < sizeof(o->input); i++)
        o->input[i] = (uint8_t)i;
    for (size_t i = 0; i < WARPRSA_RANDOM_WORDS; i++)
        o->random[i] = 0x9e3779b97f4a7c15u * (i + 1);
    for (int i = 0; i < REQUESTS; i++)
        o->requests[i] = (warprsa_host_request){
            .key = &o->key, .input = o->input, .random = o->random};
    warprsa_known_answer_key(&key, (warprsa_size_class)size);
    if (arithmetic()->prepare(&o->key, &key) != WARPRSA_OK)
        return 0;
    if (LARGE) {
        o->key.windows = SHORT_WINDOWS;
        o->key.e = 3;
    }
    return 1;
}

/* Whether the marks have reached these bytes. */
static int is_marked(const void *bytes, size_t size)
{
    uint8_t marks[WARPRSA_MODULUS_BYTES_MAX] = {0}, any = 0;

    if (VALGRIND_GET_VBITS(bytes, marks, size) != MARKED_OK)
        return 0;
    for (size_t i = 0; i < size; i++)
        any |= marks[i];
    VALGRIND_MAKE_MEM_DEFINED(&any, sizeof(any));
    return any != 0;
}

/* The known answer, or of a shortened operation none. */
static int is_right(const warprsa_host_request *request, int size)
{
    uint8_t known[WARPRSA_MODULUS_BYTES_MAX];
    const size_t bytes =
        warprsa_known_answer_result(known, (warprsa_size_class)size);

    if (LARGE)
        return request->status == WARPRSA_CHECK_FAILED;
    return request->status == WARPRSA_OK &&
           memcmp(request->output, known, bytes) == 0;
}

/* The first `count` requests; `blinding` as in warprsa_host_options. */
static void operate(operands *o, void *workspace, int size, size_t count,
                    void *blinding)
{
    uint8_t known[WARPRSA_MODULUS_BYTES_MAX];
    const size_t bytes =
        warprsa_known_answer_result(known, (warprsa_size_class)size);
    const warprsa_host_options options = {.many = true, .blinding = blinding};
    const unsigned before = VALGRIND_COUNT_ERRORS;
    int marked, right = 1;

    arithmetic()->operate(workspace, o->requests, count,
                          (warprsa_size_class)size, options);
    expect(VALGRIND_COUNT_ERRORS == before,
           "no branch and no address depends on a secret", size);
    marked = is_marked(o->requests[0].output, bytes);
    expect(marked, "the marks have reached the result", size);
    VALGRIND_MAKE_MEM_DEFINED(o->requests, sizeof(o->requests));
    for (size_t i = 0; i < count; i++)
        right &= is_right(&o->requests[i], size);
    expect(right,
           LARGE ? "its check finds that it was cut short"
                 : "the result is right",
           size);
}

/* Two batches with blinding that is kept: a random one, and its squares. */
static void operate_twice(operands *o, void *workspace, int size)
{
    const size_t bytes = arithmetic()->blinding_bytes((warprsa_size_class)size);
    void *blinding = aligned_alloc(WARPRSA_HOST_ALIGNMENT, aligned(bytes));

    if (blinding == NULL)
        exit(1);
    memset(blinding, 0, bytes);
    for (int i = 0; i < 2; i++) {
        operate(o, workspace, size, REQUESTS, blinding);
        expect(is_marked(blinding, WARPRSA_MODULUS_BYTES_MAX),
               "blinding is kept", size);
    }
    free(blinding);
}

#ifndef WARPRSA_LARGE
/* A right result in every lane but one. */
static void check_results(int size)
{
    static void (*const of_class[])(warprsa_ifma_result *, size_t) = {
        warprsa_portable_check_20, warprsa_portable_check_40,
        warprsa_portable_check_60, warprsa_portable_check_80};
    static uint8_t input[WARPRSA_MODULUS_BYTES_MAX];
    static uint8_t output[2][WARPRSA_MODULUS_BYTES_MAX];
    const unsigned before = VALGRIND_COUNT_ERRORS;
    warprsa_ifma_public_key *public;
    warprsa_ifma_result results[REQUESTS];
    warprsa_private_key key;
    int marked, right = 1;

    warprsa_known_answer_key(&key, (warprsa_size_class)size);
    if (warprsa_ifma_public_key_prepare(&key, &public) != WARPRSA_OK)
        exit(1);
    for (size_t i = 0; i < sizeof(input); i++)
        input[i] = (uint8_t)i;
    for (int i = 0; i < 2; i++)
        (void)warprsa_known_answer_result(output[i], (warprsa_size_class)size);
    output[1][1] ^= 1;
    for (int i = 0; i < REQUESTS; i++)
        results[i] = (warprsa_ifma_result){
            .key = public, .input = input, .output = output[i == FEW]};
    VALGRIND_MAKE_MEM_UNDEFINED(input, sizeof(input));
    VALGRIND_MAKE_MEM_UNDEFINED(output, sizeof(output));
    of_class[size](results, REQUESTS);
    expect(VALGRIND_COUNT_ERRORS == before,
           "check: no branch and no address depends on a number", size);
    marked = is_marked(&results[0].is_right, 1);
    expect(marked, "check: the marks have reached the answer", size);
    VALGRIND_MAKE_MEM_DEFINED(results, sizeof(results));
    for (int i = 0; i < REQUESTS; i++)
        right &= results[i].is_right == (i != FEW);
    expect(right, "check: the wrong result is found, and it alone", size);
    warprsa_ifma_public_key_free(public);
}
#endif

/* What a window of an exponent must not do. */
static void controls(const operands *o)
{
    static volatile unsigned table[16];
    const uint32_t digit = o->key.half[0].exponent[0] & 15;
    unsigned before = VALGRIND_COUNT_ERRORS;

    if (digit != 0)
        table[0]++;
    expect(VALGRIND_COUNT_ERRORS > before, "control: a branch is found", -1);
    before = VALGRIND_COUNT_ERRORS;
    table[1] = table[digit];
    expect(VALGRIND_COUNT_ERRORS > before, "control: an address is found", -1);
}

int main(int argc, char **argv)
{
    static operands o;
    const int all = argc > 1 && strcmp(argv[1], "--all") == 0;

    if (!RUNNING_ON_VALGRIND) {
        puts("skipped: valgrind must run this");
        return SKIPPED;
    }
    for (int size = FIRST; size < END; size += all || LARGE ? 1 : 2) {
        const size_t bytes =
            aligned(arithmetic()->workspace_bytes((warprsa_size_class)size));
        void *workspace = aligned_alloc(WARPRSA_HOST_ALIGNMENT, bytes);

        if (workspace == NULL || !prepare(&o, size))
            return 1;
        mark_secrets(&o);
        operate(&o, workspace, size, FEW, NULL);
        if (size == FIRST) {
            operate_twice(&o, workspace, size);
            controls(&o);
        }
        free(workspace);
    }
#ifndef WARPRSA_LARGE
    for (int size = FIRST; size < END; size++)
        check_results(size);
#endif
    return failures != 0;
}
