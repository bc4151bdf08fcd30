/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See proof.h.
 */
#include "gpu/select/proof.h"

enum {
    /* Of rows, of classes without one and by the rest's kernel; of streams. */
    TESTS_MAX = WARPRSA_KERNEL_TIMINGS_MAX + 2 * WARPRSA_CLASS_LARGE +
                WARPRSA_STREAMS_MAX,
};

typedef struct test_list {
    size_t count;
    warprsa_kernel_test test[TESTS_MAX];
} test_list;

static void add(test_list *list, warprsa_size_class size,
                const warprsa_kernel *kernel, unsigned stream)
{
    list->test[list->count++] =
        (warprsa_kernel_test){size, kernel, stream, WARPRSA_DEVICE_ERROR};
}

/* A test of the stream itself: of any class, by a kernel that must be right. */
static void add_stream(test_list *list, const warprsa_kernel_timings *timings,
                       unsigned stream)
{
    const warprsa_size_class size =
        (warprsa_size_class)(stream % WARPRSA_CLASS_LARGE);

    add(list, size, warprsa_fastest_kernel(timings, size, 1), stream);
}

/* The next one, on the stream whose turn it is. */
static void add_next(test_list *list, warprsa_size_class size,
                     const warprsa_kernel *kernel, unsigned streams)
{
    add(list, size, kernel, (unsigned)(list->count % streams));
}

/* The tests of all kernels on the streams in turn, and one on each stream that
 * is left. */
static void list_all(test_list *list, const warprsa_kernel_timings *timings,
                     const warprsa_kernel *rest, unsigned streams)
{
    list->count = 0;
    for (size_t i = 0; i < timings->count; i++)
        add_next(list, timings->row[i].size, timings->row[i].kernel, streams);
    for (int i = 0; i < WARPRSA_CLASS_LARGE; i++) {
        const warprsa_size_class size = (warprsa_size_class)i;

        if (warprsa_fastest_kernel(timings, size, 1) == NULL)
            add_next(list, size, NULL, streams);
        if (rest != NULL)
            add_next(list, size, rest, streams);
    }
    for (unsigned s = (unsigned)list->count; s < streams; s++)
        add_stream(list, timings, s);
}

/* Whether the test says that a kernel is to be left out. */
static bool is_left_out(const warprsa_kernel_test *test)
{
    return test->status == WARPRSA_CHECK_FAILED && test->kernel != NULL &&
           test->kernel->shares_key;
}

static void leave_out(warprsa_kernel_timings *timings, warprsa_proof *proof,
                      const warprsa_kernel *kernel)
{
    size_t kept = 0;

    for (unsigned i = 0; i < proof->wrong_count; i++)
        if (proof->wrong[i] == kernel)
            return;
    proof->wrong[proof->wrong_count++] = kernel;
    for (size_t i = 0; i < timings->count; i++)
        if (timings->row[i].kernel != kernel)
            timings->row[kept++] = timings->row[i];
    timings->count = kept;
}

/* Of the tests that have run, leaves out what is wrong, and notes the streams
 * that have passed one. The status is that of the device. */
static warprsa_status judge(const test_list *list,
                            warprsa_kernel_timings *timings,
                            bool has_passed[WARPRSA_STREAMS_MAX],
                            warprsa_proof *proof)
{
    for (size_t i = 0; i < list->count; i++) {
        const warprsa_kernel_test *test = &list->test[i];

        if (test->status == WARPRSA_OK) {
            has_passed[test->stream] = true;
        } else if (is_left_out(test)) {
            leave_out(timings, proof, test->kernel);
        } else {
            proof->failed = *test;
            return test->status;
        }
    }
    return WARPRSA_OK;
}

warprsa_status warprsa_prove_kernels(warprsa_kernel_timings *timings,
                                     const warprsa_kernel *rest,
                                     unsigned streams,
                                     warprsa_run_kernel_tests run, void *arg,
                                     warprsa_proof *proof)
{
    bool has_passed[WARPRSA_STREAMS_MAX] = {false};
    warprsa_status status;
    test_list list;

    *proof = (warprsa_proof){0};
    list_all(&list, timings, rest, streams);
    run(arg, list.test, list.count);
    status = judge(&list, timings, has_passed, proof);
    if (status != WARPRSA_OK)
        return status;
    list.count = 0;
    for (unsigned s = 0; s < streams; s++)
        if (!has_passed[s])
            add_stream(&list, timings, s);
    if (list.count == 0)
        return WARPRSA_OK;
    run(arg, list.test, list.count);
    return judge(&list, timings, has_passed, proof);
}
