/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory of the engine on a GPU, without a GPU: what its streams have, what
 * they share, what waits for the device, and what happens when any allocation
 * fails. CUDA is played by this file. Its device memory is the host's, it
 * copies at once, and its one kernel writes the results of the known-answer
 * test. A batch is under way from the engine's start() to its wait(). Time
 * passes in sleep alone.
 */
#include "tests/unit/support/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime_api.h>

#include "gpu/cuda/cuda_device.h"
#include "gpu/cuda/library.h"
#include "gpu/kernels/kernels.h"
#include "gpu/known_answer.h"

enum {
    BLOCKS_MAX = 512,
    STREAMS = 24,
    BATCH_MAX = 256,
    FEW = BATCH_MAX / 32, /* a stream's own table is enough for these */
    TABLE_BYTES = 4096,   /* of a request */
    LONGEST_TABLE = BATCH_MAX * TABLE_BYTES,
    TIMEOUT_MS = 60000,
};

static struct block {
    void *at;
    size_t size;
} blocks[BLOCKS_MAX];
static size_t bytes_in_use;
static unsigned blocks_in_use, streams_in_use;
static unsigned dirty;         /* blocks that were freed with something in */
static unsigned allowed;       /* allocations, before one fails */
static cudaError_t last_error; /* what cudaGetLastError() reports */
static char default_pool;
static unsigned keys_max;
static void (*while_allocating)(void); /* what a block's allocation does */
static cudaError_t launch_fails_with;
static bool loses_one; /* a kernel computes all of its requests but the last */
static int has_pools;  /* cudaDevAttrMemoryPoolsSupported */
static bool is_busy;   /* no stream is done */
static cudaError_t synchronize_fails_with; /* for the stream of keys */
static cudaError_t ends_with;              /* all other streams */
/* Its answers are wrong; NULL: none. */
static const struct played_stream *is_wrong;
static const struct played_stream *hangs; /* is never done */
static bool ends_late;                    /* it is, when its deadline is over */
static unsigned asked_late;
static const struct played_stream *fails; /* can't launch */
static bool folds_are_wrong;
static unsigned folds;  /* batches that are folded */
static unsigned loaded; /* kernels, of each class */
/* The kernel for all batches; NULL: they are chosen by timings, which are known
 * unless the device has to be calibrated. */
static const char *for_all;
static bool is_calibrated;
/* The class in which all answers are wrong but those of the fold; or none. */
static int wrong_class;
/* Calls of functions that wait for all that the device has to do. */
static unsigned waits;
/* Streams that had something to do when one was first asked. */
static unsigned tested;
static bool has_been_asked;

/* A stream, and where the tables of its batch under way are. */
static struct played_stream {
    cudaStream_t stream;
    const uint8_t *from, *to;
    unsigned launches; /* of the batch */
    unsigned wipes;
    bool is_synchronized;
    /* What a copy to the device may still read, and the sum of its bytes. */
    const uint8_t *source;
    size_t source_bytes, source_sum;
} played_streams[1 + STREAMS]; /* the first one is for keys */

static struct timespec now;

int clock_gettime(clockid_t clock, struct timespec *out)
{
    *out = now;
    return 0;
}

int nanosleep(const struct timespec *pause, struct timespec *left)
{
    now.tv_sec += pause->tv_sec;
    now.tv_nsec += pause->tv_nsec;
    if (now.tv_nsec >= 1000000000) {
        now.tv_sec++;
        now.tv_nsec -= 1000000000;
    }
    return 0;
}

static cudaError_t allocate(void **out, size_t size)
{
    unsigned i = 0;

    if (allowed == 0) {
        last_error = cudaErrorMemoryAllocation;
        return last_error;
    }
    allowed--;
    while (blocks[i].at != NULL)
        assert_true(++i < BLOCKS_MAX);
    /* Not zeroed, as the driver's is not. */
    blocks[i] = (struct block){malloc(size), size};
    assert_non_null(blocks[i].at);
    memset(blocks[i].at, 0xA5, size);
    *out = blocks[i].at;
    bytes_in_use += size;
    blocks_in_use++;
    return cudaSuccess;
}

/* Nothing is freed while a batch is under way that could use it. */
static cudaError_t release(void *at)
{
    unsigned i = 0;

    if (at == NULL)
        return cudaSuccess;
    for (unsigned s = 0; s <= STREAMS; s++)
        assert_int_equal(played_streams[s].launches, 0);
    while (blocks[i].at != at)
        assert_true(++i < BLOCKS_MAX);
    for (size_t b = 0; b < blocks[i].size; b++)
        if (((const uint8_t *)at)[b] != 0) {
            dirty++;
            break;
        }
    bytes_in_use -= blocks[i].size;
    blocks_in_use--;
    blocks[i] = (struct block){NULL, 0};
    free(at);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t size)
{
    waits++;
    return allocate(out, size);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    *pool = (cudaMemPool_t)(void *)&default_pool;
    return cudaSuccess;
}

/* By the stream that computes nothing. */
cudaError_t cudaMallocFromPoolAsync(void **out, size_t size, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    assert_true(has_pools);
    assert_ptr_equal(pool, &default_pool);
    assert_ptr_equal(stream, played_streams[0].stream);
    if (while_allocating != NULL)
        while_allocating();
    return allocate(out, size);
}

cudaError_t cudaFreeAsync(void *at, cudaStream_t stream)
{
    const unsigned before = dirty;

    assert_ptr_equal(stream, played_streams[0].stream);
    (void)release(at);
    dirty = before; /* no batch has written to it */
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **out, size_t size, unsigned flags)
{
    waits++;
    return allocate(out, size);
}

cudaError_t cudaFree(void *at)
{
    waits++;
    return release(at);
}

cudaError_t cudaFreeHost(void *at)
{
    waits++;
    return release(at);
}

cudaError_t cudaMemset(void *at, int value, size_t size)
{
    memset(at, value, size);
    return cudaSuccess;
}

static struct played_stream *stream_of(cudaStream_t stream)
{
    unsigned i = 0;

    while (played_streams[i].stream != stream)
        assert_true(++i < sizeof(played_streams) / sizeof(played_streams[0]));
    return &played_streams[i];
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t size,
                            cudaStream_t stream)
{
    stream_of(stream)->wipes++;
    return cudaMemset(at, value, size);
}

static size_t sum_of(const uint8_t *from, size_t size)
{
    size_t sum = 0;

    for (size_t i = 0; i < size; i++)
        sum = 31 * sum + from[i];
    return sum;
}

/* A stream's copy to the device is done. A device copies when it comes to it,
 * so what it copied must still be what it was to copy. */
static void note_copied(struct played_stream *stream)
{
    if (stream->source != NULL)
        assert_int_equal(sum_of(stream->source, stream->source_bytes),
                         stream->source_sum);
    stream->source = NULL;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    struct played_stream *played = stream_of(stream);

    if (kind == cudaMemcpyDeviceToHost)
        note_copied(played); /* in the order of the stream */
    memcpy(to, from, size);
    if (kind == cudaMemcpyHostToDevice && played != &played_streams[0]) {
        assert_null(played->source);
        played->source = from;
        played->source_bytes = size;
        played->source_sum = sum_of(from, size);
    }
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    void *at = NULL;

    if (allowed == 0) {
        last_error = cudaErrorMemoryAllocation;
        return last_error;
    }
    allowed--;
    at = malloc(1);
    assert_non_null(at);
    *stream = at;
    *stream_of(NULL) = (struct played_stream){.stream = at};
    streams_in_use++;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    assert_true(stream_of(stream)->is_synchronized ||
                stream == played_streams[0].stream);
    *stream_of(stream) = (struct played_stream){0};
    free(stream);
    streams_in_use--;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    struct played_stream *played = stream_of(stream);

    if (played == &played_streams[0])
        return synchronize_fails_with;
    waits++;
    played->is_synchronized = true;
    played->launches = 0;
    note_copied(played);
    return ends_with;
}

cudaError_t cudaDeviceSynchronize(void)
{
    waits++;
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    for (unsigned s = 0; !has_been_asked && s <= STREAMS; s++)
        tested += played_streams[s].launches > 0;
    has_been_asked = true;
    if (ends_late && now.tv_sec >= TIMEOUT_MS / 1000 && asked_late++ > 0)
        hangs = NULL;
    if (is_busy || stream_of(stream) == hangs)
        return cudaErrorNotReady;
    /* Of a calibration, whose batches nobody counts. */
    if (is_calibrated && loaded == 0)
        stream_of(stream)->launches = 0;
    note_copied(stream_of(stream));
    return ends_with;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties,
                                    int device)
{
    memset(properties, 0, sizeof(*properties));
    snprintf(properties->name, sizeof(properties->name), "%s",
             is_calibrated ? "played, unknown" : "played");
    properties->major = 9;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                   int device)
{
    *value = attribute == cudaDevAttrComputeCapabilityMajor   ? 9
             : attribute == cudaDevAttrComputeCapabilityMinor ? 0
             : attribute == cudaDevAttrMultiProcessorCount    ? 132
             : attribute == cudaDevAttrMemoryPoolsSupported   ? has_pools
                                                              : 2;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 12000;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;

    last_error = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : "an error";
}

/* Whether a block has all from here to there. */
static bool is_allocated(const uint8_t *from, const uint8_t *to)
{
    for (unsigned i = 0; i < BLOCKS_MAX; i++) {
        const uint8_t *at = blocks[i].at;

        if (at != NULL && from >= at && to <= at + blocks[i].size)
            return true;
    }
    return false;
}

/* A launch uses its table: no other batch under way may have it. */
static void use_table(struct played_stream *stream, void *table, size_t bytes)
{
    const uint8_t *from = table, *to = from + bytes;

    assert_true(is_allocated(from, to));
    for (unsigned i = 0; i <= STREAMS; i++)
        if (&played_streams[i] != stream && played_streams[i].launches > 0)
            assert_true(to <= played_streams[i].from ||
                        from >= played_streams[i].to);
    stream->from = from;
    if (stream->launches++ == 0 || to > stream->to)
        stream->to = to;
    memset(table, 1, bytes);
}

/* What both kernels do. CUDA reports a failed allocation once more here, if
 * nobody has asked for it. */
static int compute(const warprsa_batch *batch, warprsa_size_class size,
                   bool is_right, cudaStream_t stream)
{
    uint8_t result[WARPRSA_MODULUS_BYTES_MAX];
    const size_t bytes = warprsa_known_answer_result(result, size);

    if (batch->count == 0) {
        assert_null(stream);
        for (unsigned s = 0; s <= STREAMS; s++)
            assert_int_equal(played_streams[s].launches, 0);
        loaded++;
        return cudaSuccess;
    }
    for (uint32_t i = 0; i < batch->count - loses_one; i++) {
        assert_true(batch->key[i] <
                    (size < WARPRSA_CLASS_LARGE
                         ? keys_max + WARPRSA_CLASSES
                         : warprsa_cuda_large_places(keys_max)));
        memcpy(batch->output + (size_t)i * batch->bytes_stride, result, bytes);
        batch->status[i] = WARPRSA_OK;
        batch->result[(size_t)i * WARPRSA_FULL_SAMPLES] = 1;
    }
    if (stream_of(stream) == is_wrong || !is_right)
        memset(batch->output, 1, bytes);
    use_table(stream_of(stream), batch->table, batch->count * TABLE_BYTES);
    if (stream_of(stream) == fails)
        return (int)cudaErrorLaunchFailure;
    if (launch_fails_with != cudaSuccess)
        return (int)launch_fails_with;
    return (int)cudaGetLastError();
}

#define COMPUTE(bits)                                                          \
    static int compute_##bits(const warprsa_batch *batch,                      \
                              struct CUstream_st *stream)                      \
    {                                                                          \
        return compute(batch, WARPRSA_CLASS_##bits,                            \
                       WARPRSA_CLASS_##bits != wrong_class, stream);           \
    }
COMPUTE(1024)
COMPUTE(2048)
COMPUTE(3072)
COMPUTE(4096)
COMPUTE(6144)
COMPUTE(8192)

static uint32_t at_once(warprsa_size_class size)
{
    return 8;
}

static size_t table_bytes(warprsa_size_class size, size_t count)
{
    return count * TABLE_BYTES;
}

static const warprsa_known_timings known[] = {
    {"played",
     {[WARPRSA_CLASS_1024] = {1056, 1, 2, 4},
      [WARPRSA_CLASS_2048] = {1056, 1, 2, 4},
      [WARPRSA_CLASS_3072] = {1056, 1, 2, 4},
      [WARPRSA_CLASS_4096] = {1056, 1, 2, 4}}},
    {0},
};

static const warprsa_kernel played = {
    .name = "played",
    .at_once = at_once,
    .known = known,
    .launch = {compute_1024, compute_2048, compute_3072, compute_4096,
               compute_6144, compute_8192},
    .table_bytes = table_bytes,
};

static size_t fold_table_bytes(size_t items, size_t all_items, uint32_t sms)
{
    return items * TABLE_BYTES;
}

/* Of batches of one request. */
static int fold_launch(const warprsa_fold_batch *batch, size_t bytes,
                       struct CUstream_st *stream)
{
    assert_int_equal(batch->item_count, batch->batch.count);
    folds += batch->item_count;
    return compute(&batch->batch, WARPRSA_CLASS_3072, !folds_are_wrong, stream);
}

static const warprsa_fold_kernel fold_3072 = {.item_max = 64,
                                              .item_min = 64,
                                              .short_share = 1,
                                              .table_bytes = fold_table_bytes,
                                              .launch = fold_launch};

static const warprsa_known_timings fold_known[] = {
    {"played", {[WARPRSA_CLASS_3072] = {1056, 1, 2, 4}}},
    {0},
};

static const warprsa_kernel played_fold = {
    .name = "played_fold",
    .shares_key = true,
    .at_once = at_once,
    .known = fold_known,
    .fold = {[WARPRSA_CLASS_3072] = &fold_3072},
};

/* Wants what the played GPU does not have. */
static const warprsa_kernel absent = {
    .name = "absent", .needs = {.capability = 80}, .table_bytes = table_bytes};

/* In the place of gpu/kernels/kernels.c. */
const warprsa_kernel *const warprsa_kernels[WARPRSA_KERNELS] = {
    &played, &played_fold, &absent, &absent, &absent, &absent, &absent};

const warprsa_kernel *warprsa_kernel_named(const char *name)
{
    return strcmp(name, played_fold.name) == 0 ? &played_fold : &played;
}

const warprsa_kernel *warprsa_kernel_by_default(bool int32_keys)
{
    return &played;
}

bool warprsa_kernel_runs(const warprsa_kernel *kernel, const warprsa_gpu *gpu)
{
    return kernel != &absent;
}

bool warprsa_kernel_takes(const warprsa_kernel *kernel, const warprsa_gpu *gpu,
                          warprsa_size_class size)
{
    /* The fold is played for one request, and a calibration has more. */
    return kernel->launch[size] != NULL ||
           (kernel->fold[size] != NULL && !is_calibrated);
}

bool warprsa_runs_machine_code(uint32_t capability, const uint32_t *of,
                               size_t count)
{
    return true;
}

static int give_random(void *arg, void *out, size_t length)
{
    memset(out, 0x5A, length);
    return 1;
}

static const warprsa_engine *const engine = &warprsa_cuda_engine;
static warprsa_device *device;
static uint32_t key_index;
static unsigned refused; /* lines of the trace */
static char said[400];   /* the last one of the opening */

static void trace(void *arg, int level, const char *line)
{
    refused += strstr(line, "scratch memory for a long batch") != NULL;
    if (strstr(line, "known-answer test") != NULL ||
        strstr(line, "opened in") != NULL)
        snprintf(said, sizeof(said), "%s", line);
}

static warprsa_status open_with(unsigned streams)
{
    const warprsa_device_config config = {.streams = streams,
                                          .batch_max = BATCH_MAX,
                                          .keys_max = keys_max,
                                          .kernel = for_all,
                                          .random = give_random,
                                          .trace = trace};
    char why[160];

    waits = 0;
    tested = 0;
    has_been_asked = false;
    folds = 0;
    loaded = 0;
    said[0] = '\0';
    return engine->open(&config, &device, why, sizeof(why));
}

static warprsa_status open_device(void)
{
    return open_with(STREAMS);
}

static int plenty(void **state)
{
    allowed = UINT32_MAX;
    keys_max = 2;
    has_pools = 1;
    is_busy = false;
    is_wrong = NULL;
    hangs = NULL;
    ends_late = false;
    fails = NULL;
    folds_are_wrong = false;
    for_all = "played";
    is_calibrated = false;
    wrong_class = -1;
    launch_fails_with = cudaSuccess;
    loses_one = false;
    synchronize_fails_with = cudaSuccess;
    ends_with = cudaSuccess;
    last_error = cudaSuccess;
    dirty = 0;
    refused = 0;
    return 0;
}

static void nothing_is_left(void)
{
    assert_int_equal(blocks_in_use, 0);
    assert_int_equal(bytes_in_use, 0);
    assert_int_equal(streams_in_use, 0);
    assert_int_equal(dirty, 0);
}

/* The batch of a stream has ended. How long it took is forgotten, too, or the
 * next wait would sleep as long. */
static void forget(unsigned stream)
{
    memset(&device->streams[stream].eta, 0, sizeof(warprsa_eta));
    played_streams[1 + stream].launches = 0;
}

/* A device with the known-answer test's key. */
static void open_with_key(void)
{
    warprsa_private_key key;

    assert_int_equal(open_device(), WARPRSA_OK);
    assert_int_equal(streams_in_use, 1 + STREAMS);
    warprsa_known_answer_key(&key, WARPRSA_CLASS_2048);
    assert_int_equal(engine->load_key(device, &key, &key_index), WARPRSA_OK);
    for (unsigned s = 0; s < STREAMS; s++)
        forget(s);
    waits = 0;
}

static int opened(void **state)
{
    plenty(state);
    open_with_key();
    return 0;
}

/* The control of `waits` and of `dirty`: closing waits, and what it frees has
 * been written to. */
static int closed(void **state)
{
    waits = 0;
    ends_with = cudaSuccess;
    assert_true(engine->close(device));
    assert_true(waits > 2 * STREAMS);
    nothing_is_left();
    return 0;
}

static warprsa_task tasks[STREAMS][BATCH_MAX];

static warprsa_status start(unsigned stream, size_t count)
{
    static uint8_t input[WARPRSA_MODULUS_BYTES_MAX];
    static uint8_t output[WARPRSA_MODULUS_BYTES_MAX];

    for (size_t i = 0; i < count; i++)
        tasks[stream][i] = (warprsa_task){.key = key_index,
                                          .input = input,
                                          .output = output,
                                          .status = WARPRSA_DEVICE_ERROR};
    return engine->start(device, stream, WARPRSA_CLASS_2048, tasks[stream],
                         count);
}

/* Ends the batch of a stream, and returns its launches. */
static unsigned end(unsigned stream, size_t count)
{
    const unsigned launches = played_streams[1 + stream].launches;

    assert_int_equal(engine->wait(device, stream, TIMEOUT_MS), WARPRSA_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tasks[stream][i].status, WARPRSA_OK);
    forget(stream);
    return launches;
}

static unsigned run(unsigned stream, size_t count)
{
    assert_int_equal(start(stream, count), WARPRSA_OK);
    return end(stream, count);
}

/* Runs batches of `count` on all streams at once, and returns how many of them
 * were computed at once, not in pieces. */
static unsigned run_on_all(size_t count)
{
    unsigned whole = 0;

    for (unsigned s = 0; s < STREAMS; s++)
        assert_int_equal(start(s, count), WARPRSA_OK);
    for (unsigned s = 0; s < STREAMS; s++)
        whole += end(s, count) == 1;
    return whole;
}

static void all_is_given_back(void)
{
    for (unsigned b = 0; b < WARPRSA_TABLE_BLOCKS; b++)
        assert_int_equal(device->tables.taken[b], 0);
}

/* However long the batches are, all streams together take so many blocks more
 * at most, each for one longest batch. The other batches are computed in
 * pieces, and nobody waits for the device. */
TEST_IN(long_batches_share_memory, opened, closed)
{
    const unsigned blocks_before = blocks_in_use;
    const size_t before = bytes_in_use;

    assert_int_equal(run_on_all(BATCH_MAX), WARPRSA_TABLE_BLOCKS);
    assert_int_equal(blocks_in_use, blocks_before + WARPRSA_TABLE_BLOCKS);
    assert_int_equal(bytes_in_use,
                     before + (size_t)WARPRSA_TABLE_BLOCKS * LONGEST_TABLE);
    all_is_given_back();
    assert_int_equal(run_on_all(BATCH_MAX), WARPRSA_TABLE_BLOCKS);
    assert_int_equal(blocks_in_use, blocks_before + WARPRSA_TABLE_BLOCKS);
    /* Half of the longest: two share a block. */
    assert_int_equal(run_on_all(BATCH_MAX / 2), 2 * WARPRSA_TABLE_BLOCKS);
    all_is_given_back();
    assert_int_equal(waits, 0);
    assert_int_equal(refused, 0);
}

static void end_another(void)
{
    while_allocating = NULL;
    assert_int_equal(pthread_mutex_trylock(&device->tables.lock), 0);
    pthread_mutex_unlock(&device->tables.lock);
    assert_int_equal(start(5, BATCH_MAX), WARPRSA_OK); /* in pieces */
    assert_true(end(3, BATCH_MAX) == 1);
    assert_true(end(5, BATCH_MAX) > 1);
}

/* While the driver allocates a block, other batches begin and end. */
TEST_IN(others_do_not_wait_for_an_allocation, opened, closed)
{
    const unsigned before = blocks_in_use;

    assert_int_equal(start(3, BATCH_MAX), WARPRSA_OK);
    assert_int_equal(blocks_in_use, before + 1);
    while_allocating = end_another;
    assert_int_equal(start(4, BATCH_MAX), WARPRSA_OK);
    assert_null(while_allocating);
    assert_int_equal(end(4, BATCH_MAX), 1);
    assert_int_equal(blocks_in_use, before + 2);
    all_is_given_back();
}

/* Streams that compute one after the other need one block together. */
TEST_IN(memory_is_given_back, opened, closed)
{
    const unsigned before = blocks_in_use;

    for (unsigned s = 0; s < STREAMS; s++)
        assert_int_equal(run(s, BATCH_MAX), 1);
    assert_int_equal(blocks_in_use, before + 1);
    assert_int_equal(waits, 0);
}

/* Short batches have what they need. One request more takes a block. */
TEST_IN(short_batches_share_nothing, opened, closed)
{
    const unsigned before = blocks_in_use;

    assert_int_equal(run_on_all(FEW), STREAMS);
    assert_int_equal(blocks_in_use, before);
    assert_int_equal(run_on_all(FEW + 1), STREAMS);
    assert_in_range(blocks_in_use, before + 1, before + WARPRSA_TABLE_BLOCKS);
}

/* Batches of all lengths, which end in another order than they began. */
TEST_IN(lengths_mix, opened, closed)
{
    const unsigned before = blocks_in_use;
    size_t count[STREAMS];

    for (unsigned turn = 0; turn < 50; turn++)
        for (unsigned i = 0; i < STREAMS; i++) {
            const unsigned s = (i * 7 + turn) % STREAMS;

            if (turn > 0)
                end(s, count[s]);
            count[s] = 1 + (turn * 37u + s * 101u) % BATCH_MAX;
            assert_int_equal(start(s, count[s]), WARPRSA_OK);
        }
    for (unsigned s = 0; s < STREAMS; s++)
        end(s, count[s]);
    all_is_given_back();
    assert_int_equal(blocks_in_use, before + WARPRSA_TABLE_BLOCKS);
    assert_int_equal(waits, 0);
}

/* Whichever block the device has no memory for, batches are computed with what
 * there is, and the trace says so. It is tried again later. */
TEST_IN(any_allocation_of_a_block_fails, opened, closed)
{
    const unsigned before = blocks_in_use;

    for (unsigned b = 0; b < WARPRSA_TABLE_BLOCKS; b++) {
        device->tables.retry_ns = 0;
        allowed = b == 0 ? 0 : 1;
        refused = 0;
        assert_int_equal(run_on_all(BATCH_MAX), b);
        assert_int_equal(blocks_in_use, before + b);
        assert_int_equal(refused, 1);
        assert_int_equal(last_error, cudaSuccess);
        /* As before: nothing to say. */
        device->tables.retry_ns = 0;
        allowed = 0;
        assert_int_equal(run_on_all(BATCH_MAX), b);
        assert_int_equal(refused, 1);
    }
    device->tables.retry_ns = 0;
    allowed = UINT32_MAX;
    assert_int_equal(run_on_all(BATCH_MAX), WARPRSA_TABLE_BLOCKS);
    assert_int_equal(waits, 0);
}

/* A block that the driver gave and did not finish goes back to it. */
TEST_IN(a_block_that_does_not_come, opened, closed)
{
    const unsigned before = blocks_in_use;

    synchronize_fails_with = cudaErrorUnknown;
    assert_int_equal(run_on_all(BATCH_MAX), 0);
    assert_int_equal(blocks_in_use, before);
    assert_int_equal(refused, 1);
    synchronize_fails_with = cudaSuccess;
    device->tables.retry_ns = 0;
    assert_int_equal(run_on_all(BATCH_MAX), WARPRSA_TABLE_BLOCKS);
    assert_int_equal(blocks_in_use, before + WARPRSA_TABLE_BLOCKS);
}

static void assert_wiped(const uint8_t *at, size_t bytes)
{
    for (size_t b = 0; b < bytes; b++)
        assert_int_equal(at[b], 0);
}

/* Of a batch that could not be started nothing is under way any more: the
 * staging memory is the next batch's, the scratch memory anybody's. What it has
 * copied to the device is wiped, and then what its kernels have left in the
 * scratch memory, in the order of the stream. */
TEST_IN(a_batch_that_was_not_started, opened, closed)
{
    const warprsa_batch_memory *memory = &device->streams[3].memory;
    const unsigned wipes = played_streams[1 + 3].wipes;

    launch_fails_with = cudaErrorMemoryAllocation;
    assert_int_equal(start(3, BATCH_MAX), WARPRSA_NO_MEMORY);
    launch_fails_with = cudaSuccess;
    assert_null(played_streams[1 + 3].source);
    assert_int_equal(played_streams[1 + 3].launches, 0);
    assert_wiped(memory->host_block, memory->host_bytes);
    assert_wiped(memory->device_block, device->staging.device_bytes);
    assert_wiped(device->tables.block[0], LONGEST_TABLE);
    assert_int_equal(played_streams[1 + 3].wipes, wipes + 2);
    all_is_given_back();
    for (unsigned s = 3; s < 3 + WARPRSA_TABLE_BLOCKS; s++)
        assert_int_equal(start(s, BATCH_MAX), WARPRSA_OK);
    for (unsigned s = 3; s < 3 + WARPRSA_TABLE_BLOCKS; s++)
        assert_int_equal(end(s, BATCH_MAX), 1);
    all_is_given_back();
}

/* What no kernel has computed, and so none has checked, is no result: not even
 * in memory that is wiped after each batch, where the status would be
 * WARPRSA_OK. */
TEST_IN(a_request_that_a_kernel_loses, opened, closed)
{
    loses_one = true;
    assert_int_equal(start(3, FEW), WARPRSA_OK);
    assert_int_equal(engine->wait(device, 3, TIMEOUT_MS), WARPRSA_OK);
    for (size_t i = 0; i < FEW; i++)
        assert_int_equal(tasks[3][i].status,
                         i < FEW - 1 ? WARPRSA_OK : WARPRSA_CHECK_FAILED);
    loses_one = false;
    forget(3);
    run(3, FEW);
}

/* Whatever it could not be started for, a device that is lost says so. Whether
 * its kernels have ended nobody knows, so the memory that they had is nobody
 * else's. */
TEST_IN(a_batch_that_loses_the_device, opened, closed)
{
    launch_fails_with = cudaErrorMemoryAllocation;
    ends_with = cudaErrorIllegalAddress;
    assert_int_equal(start(3, BATCH_MAX), WARPRSA_DEVICE_ERROR);
    assert_int_not_equal(device->tables.taken[0], 0);
    launch_fails_with = cudaSuccess;
    assert_int_equal(start(4, BATCH_MAX), WARPRSA_OK);
    assert_int_equal(engine->wait(device, 4, TIMEOUT_MS), WARPRSA_DEVICE_ERROR);
    assert_int_not_equal(device->tables.taken[1], 0);
}

/* Nobody else gets the memory of a batch that has missed its deadline. */
TEST_IN(a_batch_that_is_late, opened, closed)
{
    assert_int_equal(start(3, BATCH_MAX), WARPRSA_OK);
    is_busy = true;
    assert_int_equal(engine->wait(device, 3, 0), WARPRSA_DEADLINE);
    is_busy = false;
    for (unsigned s = 4; s < STREAMS; s++)
        assert_int_equal(start(s, BATCH_MAX), WARPRSA_OK);
    assert_int_equal(engine->wait(device, 3, TIMEOUT_MS), WARPRSA_OK);
    forget(3);
    assert_int_equal(run(3, BATCH_MAX), 1); /* where the late one was */
    for (unsigned s = 4; s < STREAMS; s++)
        end(s, BATCH_MAX);
    all_is_given_back();
}

/* A device that cannot allocate in the order of a stream waits, once for each
 * block. */
TEST_IN(a_device_without_pools, plenty, closed)
{
    has_pools = 0;
    open_with_key();
    assert_int_equal(run_on_all(BATCH_MAX), WARPRSA_TABLE_BLOCKS);
    assert_int_equal(run_on_all(BATCH_MAX), WARPRSA_TABLE_BLOCKS);
    assert_int_equal(waits, WARPRSA_TABLE_BLOCKS);
}

/* Launches of all streams, which have been computing. */
static unsigned all_launches(void)
{
    unsigned launches = 0;

    for (unsigned s = 0; s < STREAMS; s++)
        launches += played_streams[1 + s].launches;
    return launches;
}

/* The first streams compute the known-answer test of one class each, the others
 * that of any, all at once. Whichever has a wrong answer, the device is not
 * opened, and the trace says which it is. */
TEST_IN(each_stream_is_tested, plenty, NULL)
{
    char stream[40];

    assert_int_equal(open_device(), WARPRSA_OK);
    assert_int_equal(loaded, WARPRSA_CLASS_LARGE);
    assert_int_equal(tested, STREAMS);
    for (unsigned s = 0; s < STREAMS; s++)
        assert_int_equal(played_streams[1 + s].launches, 1);
    assert_non_null(strstr(said, "opened in"));
    assert_true(engine->close(device));
    for (unsigned s = 0; s < STREAMS; s++) {
        is_wrong = &played_streams[1 + s];
        assert_int_equal(open_device(), WARPRSA_CHECK_FAILED);
        snprintf(stream, sizeof(stream), "played on stream %u:", s);
        assert_non_null(strstr(said, stream));
        nothing_is_left();
    }
}

/* If the kernels are chosen by timings, each is loaded and then tested with
 * each of its classes, however many streams there are. */
TEST_IN(each_kernel_is_tested, plenty, NULL)
{
    static const unsigned streams[] = {1, 3, 5, 6, STREAMS};

    for_all = NULL;
    for (unsigned i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        assert_int_equal(open_with(streams[i]), WARPRSA_OK);
        assert_int_equal(loaded, 5);
        assert_int_equal(folds, 1);
        assert_int_equal(all_launches(), streams[i] < 5 ? 5 : streams[i]);
        assert_int_equal(tested, streams[i]);
        assert_true(engine->close(device));
        nothing_is_left();
    }
}

/* A class in which a calibration has measured nothing is tested by the kernel
 * that is to compute it. */
TEST_IN(a_class_without_timings_is_tested, plenty, NULL)
{
    for_all = NULL;
    is_calibrated = true;
    for (unsigned streams = 1; streams <= STREAMS; streams++) {
        wrong_class = -1;
        assert_int_equal(open_with(streams), WARPRSA_OK);
        assert_int_equal(device->timings.count, WARPRSA_CLASS_LARGE);
        assert_true(engine->close(device));
        wrong_class = WARPRSA_CLASS_4096;
        assert_int_equal(open_with(streams), WARPRSA_CHECK_FAILED);
        assert_int_equal(loaded, WARPRSA_CLASS_LARGE);
        assert_non_null(strstr(said, "RSA-4096 by the kernel played on"));
        nothing_is_left();
    }
}

/* A fold that is to compute all batches computes what it can. What computes the
 * rest is loaded and tested, too, with the fold's class as with the others. */
TEST_IN(the_rest_of_a_fold_is_tested, plenty, NULL)
{
    for_all = "played_fold";
    assert_int_equal(open_with(1), WARPRSA_OK);
    assert_int_equal(loaded, 2 * WARPRSA_CLASS_LARGE);
    assert_int_equal(all_launches(), 2 * WARPRSA_CLASS_LARGE);
    assert_int_equal(folds, 1);
    assert_true(engine->close(device));
    wrong_class = WARPRSA_CLASS_3072;
    assert_int_equal(open_with(1), WARPRSA_CHECK_FAILED);
    assert_non_null(strstr(said, "RSA-3072 by the kernel played on stream 0:"));
    nothing_is_left();
}

/* A kernel for requests of one key that is wrong is left out, and its stream
 * passes another test. If it is the stream that is wrong, that is found. */
TEST_IN(a_fold_is_left_out, plenty, NULL)
{
    for_all = NULL;
    folds_are_wrong = true;
    assert_int_equal(open_device(), WARPRSA_OK);
    assert_int_equal(folds, 1);
    assert_int_equal(all_launches(), STREAMS + 1);
    assert_non_null(strstr(engine->describe(device), "without played_fold"));
    assert_int_equal(device->timings.count, WARPRSA_CLASS_LARGE);
    assert_true(engine->close(device));
    folds_are_wrong = false;
    is_wrong = &played_streams[1 + 4]; /* rows: four of the other kernel */
    assert_int_equal(open_device(), WARPRSA_CHECK_FAILED);
    assert_non_null(strstr(said, "RSA-1024 by the kernel played on stream 4:"));
    nothing_is_left();
}

/* Whichever stream can't launch, none has a batch under way when memory is
 * freed: release() asserts that. */
TEST_IN(a_test_that_does_not_start, plenty, NULL)
{
    for (unsigned s = 0; s < STREAMS; s++) {
        fails = &played_streams[1 + s];
        assert_int_equal(open_device(), WARPRSA_DEVICE_ERROR);
        nothing_is_left();
    }
    fails = NULL;
    assert_int_equal(open_device(), WARPRSA_OK);
    assert_true(engine->close(device));
}

/* Whichever stream hangs, or all of them, an opening ends after the deadline of
 * one test, and the trace says where it was. */
TEST_IN(a_test_that_hangs, plenty, NULL)
{
    char stream[40];

    for (unsigned s = 0; s <= STREAMS; s++) {
        const time_t before = now.tv_sec;

        hangs = s < STREAMS ? &played_streams[1 + s] : NULL;
        is_busy = s == STREAMS;
        assert_int_equal(open_device(), WARPRSA_DEADLINE);
        assert_in_range(now.tv_sec - before, TIMEOUT_MS / 1000,
                        TIMEOUT_MS / 1000 + 1);
        snprintf(stream, sizeof(stream), "played on stream %u:", s % STREAMS);
        assert_non_null(strstr(said, stream));
        nothing_is_left();
    }
}

/* If it is a batch of a calibration, no test is started behind it. If it ends
 * late, the tests begin when it has. */
TEST_IN(a_calibration_that_hangs, plenty, NULL)
{
    for_all = NULL;
    is_calibrated = true;
    for (int i = 0; i < 2; i++) {
        now = (struct timespec){0};
        hangs = &played_streams[1];
        ends_late = i == 1;
        asked_late = 0;
        assert_int_equal(open_device(),
                         ends_late ? WARPRSA_OK : WARPRSA_DEADLINE);
        assert_int_equal(now.tv_sec, TIMEOUT_MS / 1000);
        assert_int_equal(loaded, ends_late ? WARPRSA_CLASS_LARGE : 0);
        if (ends_late)
            assert_true(engine->close(device));
        nothing_is_left();
    }
}

/* The number of allocations of an opening does not grow with the streams, but
 * for a stream's table. */
TEST_IN(an_opening_allocates_little, plenty, NULL)
{
    unsigned few;

    assert_int_equal(open_with(1), WARPRSA_OK);
    few = blocks_in_use;
    assert_int_equal(few, 3 + 1); /* keys, staging twice; a table */
    assert_true(engine->close(device));
    assert_int_equal(open_with(STREAMS), WARPRSA_OK);
    assert_int_equal(blocks_in_use, few + STREAMS - 1);
    assert_true(engine->close(device));
    nothing_is_left();
}

/* Whichever allocation of an opening fails, nothing is left, not even CUDA's
 * error: the next attempt finds what memory there is then. */
TEST_IN(any_allocation_of_an_opening_fails, plenty, NULL)
{
    warprsa_status status = WARPRSA_NO_MEMORY;
    unsigned failed = 0;

    while (status == WARPRSA_NO_MEMORY) {
        allowed = failed;
        status = open_device();
        if (status == WARPRSA_NO_MEMORY) {
            nothing_is_left();
            failed++;
        }
    }
    assert_int_equal(status, WARPRSA_OK);
    /* Keys and their stream, staging twice; of each stream itself, a table. */
    assert_int_equal(failed, 4 + 2 * STREAMS);
    assert_true(engine->close(device));
    nothing_is_left();
}

/* An operation with a key of a large class. */
static void run_large(uint32_t key, warprsa_size_class size)
{
    uint8_t input[WARPRSA_MODULUS_BYTES_MAX] = {0};
    uint8_t output[WARPRSA_MODULUS_BYTES_MAX];
    warprsa_task task = {.key = key, .input = input, .output = output};

    assert_int_equal(engine->start(device, 0, size, &task, 1), WARPRSA_OK);
    assert_int_equal(engine->wait(device, 0, TIMEOUT_MS), WARPRSA_OK);
    assert_int_equal(task.status, WARPRSA_OK);
    forget(0);
}

/* A batch of a large class is not started if that class's test is late, whose
 * stream is busy as after a batch that is late. */
TEST_IN(a_test_before_a_batch_is_late, opened, closed)
{
    uint8_t input[WARPRSA_MODULUS_BYTES_MAX] = {0};
    uint8_t output[WARPRSA_MODULUS_BYTES_MAX];
    warprsa_task task = {.input = input, .output = output};
    warprsa_private_key key;

    warprsa_known_answer_key(&key, WARPRSA_CLASS_6144);
    assert_int_equal(engine->load_key(device, &key, &task.key), WARPRSA_OK);
    hangs = &played_streams[1];
    assert_int_equal(engine->start(device, 0, WARPRSA_CLASS_6144, &task, 1),
                     WARPRSA_DEADLINE);
    assert_int_equal(engine->wait(device, 0, 0), WARPRSA_DEADLINE);
    hangs = NULL;
    assert_int_equal(engine->wait(device, 0, TIMEOUT_MS), WARPRSA_OK);
    forget(0);
    run_large(task.key, WARPRSA_CLASS_6144);
}

/* Large keys have a bound of their own, and one of them has to make room for
 * one more, also where the device has all the keys that it takes. */
TEST_IN(large_keys_have_a_bound, plenty, closed)
{
    const uint32_t most = WARPRSA_LARGE_KEYS_MAX;
    uint32_t index = 0, last = 0;
    warprsa_private_key key;
    size_t before;

    keys_max = 2 * most;
    open_with_key();
    before = bytes_in_use;
    warprsa_known_answer_key(&key, WARPRSA_CLASS_6144);
    for (uint32_t i = 0; i < most; i++)
        assert_int_equal(engine->load_key(device, &key, &last), WARPRSA_OK);
    assert_int_equal(bytes_in_use - before,
                     warprsa_cuda_large_places(keys_max) *
                         warprsa_form_large.key_bytes);
    for (int i = 0; i < 2; i++)
        assert_int_equal(engine->load_key(device, &key, &index),
                         WARPRSA_LARGE_KEYS_FULL);
    assert_int_equal(engine->unload_key(device, last), WARPRSA_OK);
    assert_int_equal(engine->load_key(device, &key, &last), WARPRSA_OK);
    assert_int_equal(engine->load_key(device, &key, &index),
                     WARPRSA_LARGE_KEYS_FULL);
    run_large(last, WARPRSA_CLASS_6144);
    /* As many others as ever. */
    warprsa_known_answer_key(&key, WARPRSA_CLASS_2048);
    for (uint32_t i = 0; i < keys_max - most - 1; i++)
        assert_int_equal(engine->load_key(device, &key, &index), WARPRSA_OK);
    assert_int_equal(engine->load_key(device, &key, &index), WARPRSA_NO_MEMORY);
    warprsa_known_answer_key(&key, WARPRSA_CLASS_8192);
    assert_int_equal(engine->load_key(device, &key, &index),
                     WARPRSA_LARGE_KEYS_FULL);
    assert_int_equal(engine->unload_key(device, last), WARPRSA_OK);
    assert_int_equal(engine->load_key(device, &key, &last), WARPRSA_OK);
    run_large(last, WARPRSA_CLASS_8192);
    /* The last index goes to a key of another class: the place stays free. */
    assert_int_equal(engine->unload_key(device, last), WARPRSA_OK);
    warprsa_known_answer_key(&key, WARPRSA_CLASS_2048);
    assert_int_equal(engine->load_key(device, &key, &last), WARPRSA_OK);
    warprsa_known_answer_key(&key, WARPRSA_CLASS_8192);
    for (int i = 0; i < 2; i++)
        assert_int_equal(engine->load_key(device, &key, &index),
                         WARPRSA_NO_MEMORY);
    assert_int_equal(engine->unload_key(device, last), WARPRSA_OK);
    assert_int_equal(engine->load_key(device, &key, &last), WARPRSA_OK);
}

RUN_TESTS(NULL, NULL)
