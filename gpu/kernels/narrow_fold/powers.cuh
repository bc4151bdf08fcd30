/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The second kernel of "narrow_fold", `powers`: the narrow fold (narrow.h). A
 * block computes the powers of an item's numbers modulo one of its primes, of a
 * short item's modulo both, or its equal load of all powers (parts.h).
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_POWERS_CUH
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_POWERS_CUH

#include "gpu/kernels/narrow_fold/power.cuh"

/* Loads what the block's digits begin with: 1, or what the block has that
 * began. By all lanes of a warp. */
static __device__ __forceinline__ void
warprsa_narrow_load_start(const warprsa_narrow_lane *me,
                          const warprsa_fold_batch &launch)
{
    double start[2 * ROUNDS] = {me->lowest ? 1.0 : 0.0};

    if (warprsa_narrow_ends_another(launch)) {
        const double *from = warprsa_narrow_samples_of_lane(
            warprsa_narrow_begun(launch, warprsa_narrow_own_number(launch)));

        WARPRSA_UNROLL
        for (int i = 0; i < 2 * ROUNDS; i++)
            if (from != nullptr && warprsa_narrow_takes_part(me, i / 2))
                start[i] = __ldcg(from + i / 2 * 4 + i % 2);
    }
    /* Of RSA-3072 those that have none, too: with `low` in the condition ptxas
     * 13.0 puts its products one behind the other. The others it orders better
     * with it. */
    if ((LIMBS == 30 || me->low) &&
        warprsa_narrow_thread_index() <
            WARPRSA_NARROW_NUMBERS * WARPRSA_NARROW_LANES) {
        WARPRSA_UNROLL
        for (int i = 0; i < ROUNDS; i++)
            warprsa_narrow_store_samples(warprsa_narrow_start_at() + 16 * i,
                                         start + 2 * i);
    }
}

/* Loads the number as both factors and as entry 1; entry 0 is 1. */
static __device__ __forceinline__ void
warprsa_narrow_load_number(const warprsa_narrow_lane *me,
                           const warprsa_narrow_look *look,
                           const warprsa_fold_batch &launch, double *a)
{
    const double *from = warprsa_narrow_samples_of_lane(
        warprsa_narrow_raised(launch, warprsa_narrow_own_number(launch)));
    const double one[2 * ROUNDS] = {me->lowest ? 1.0 : 0.0};

    WARPRSA_UNROLL
    for (int i = 0; i < 2 * ROUNDS; i++)
        a[i] = 0;
    if (from != nullptr) {
        WARPRSA_UNROLL
        for (int i = 0; i < 2 * ROUNDS; i++)
            if (warprsa_narrow_takes_part(me, i / 2))
                a[i] = from[i / 2 * 4 + i % 2];
        warprsa_narrow_store_rounds(me, me->number, a);
        warprsa_narrow_store_rounds(me, me->number + WARPRSA_NARROW_B, a);
        warprsa_narrow_put_entry(me, look, 0, one);
        warprsa_narrow_put_entry(me, look, 1, a);
    }
}

/* Clears the block's memory and loads the digits of the exponents that are its
 * own, the lowest one at the beginning of a word. */
static __device__ __forceinline__ void
warprsa_narrow_load_exponents(const warprsa_fold_batch &launch,
                              const warprsa_narrow_own &own, uint8_t *memory)
{
    const uint32_t thread = warprsa_narrow_thread_index();
    const uint32_t item = WARPRSA_NARROW_CURRENT(power) / 2;
    const size_t request = launch.items[item].first + own.request;
    const uint32_t *from = launch.batch.exponent +
                           (2 * request + own.prime) * WARPRSA_BLINDED_WORDS;
    const uint32_t bits = WARPRSA_NARROW_WINDOW * WARPRSA_NARROW_CURRENT(low);
    constexpr unsigned given = ROUNDS == 1
                                   ? (unsigned)WARPRSA_NARROW_EXPONENT_WORDS
                                   : (unsigned)WARPRSA_BLINDED_WORDS;
    uint32_t *words = reinterpret_cast<uint32_t *>(memory);

    for (unsigned i = thread; i < WARPRSA_NARROW_EXPONENT / 4;
         i += POWER_THREADS)
        words[i] = 0;
    if (ROUNDS > 1 && own.number >= WARPRSA_NARROW_NUMBERS)
        return;
    words += WARPRSA_NARROW_EXPONENT / 4 +
             own.number * WARPRSA_NARROW_EXPONENT_WORDS;
    for (unsigned i = thread % WARPRSA_NARROW_LANES;
         i < WARPRSA_NARROW_EXPONENT_WORDS; i += WARPRSA_NARROW_LANES)
        words[i] = warprsa_narrow_shifted_word(from, given, bits, i);
}

/* Loads the matrix that a block of both primes has in shared memory. */
static __device__ __forceinline__ void
warprsa_narrow_load_matrix_of_q(const warprsa_narrow_key *key, uint8_t *memory)
{
    uint4 *to = reinterpret_cast<uint4 *>(memory + MATRIX_OF_Q);
    const uint4 *from = reinterpret_cast<const uint4 *>(key->matrix);

    for (unsigned i = warprsa_narrow_thread_index();
         i < WARPRSA_NARROW_MATRIX_BYTES / 16; i += POWER_THREADS)
        to[i] = from[i];
}

/* Blocks of the powers that an SM takes at the same time: with all registers
 * that help, which takes the shortest time, or with more blocks. With 40
 * samples both are the same. With two rounds a third or half of the warps have
 * no numbers. */
#if WARPRSA_NARROW_LIMBS == 20
static constexpr int FEW = 3, MANY = 4;
#elif WARPRSA_NARROW_LIMBS == 30
static constexpr int FEW = 1, MANY = 2;
#else
static constexpr int FEW = 1, MANY = 1;
#endif

/* The most of them in the code that is being compiled: code for 8.0 has FEW. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
static constexpr int MOST = FEW;
#else
static constexpr int MOST = MANY;
#endif

/* Shared memory of an SM: 228 KB on 9.0 and 10.0, 164 KB on 8.0. A block takes
 * 1 KB more of it than it asks for. */
static_assert(MANY * (POWER_SHARED + 1024) <= 228 * 1024,
              "an SM has room for the tables of its blocks");
static_assert(FEW * (MATRIX_OF_Q + 1024) <= 164 * 1024,
              "an SM of 8.0 has room for the tables of its blocks");

/* Hides from the compiler how a word was computed. Otherwise it would compute
 * it again from what it then has to keep for that. */
static __device__ __forceinline__ void warprsa_narrow_opaque(uint32_t *word)
{
    asm volatile("" : "+r"(*word));
}

static __device__ __forceinline__ void
warprsa_narrow_keep(warprsa_narrow_lane *me, warprsa_narrow_thread *t)
{
    uint32_t *const words[] = {
        &me->left,        &me->right,        &me->left_again, &me->part,
        &me->upper_first, &me->upper_second, &me->words,      &me->number,
        &me->fourth,      &me->top_mask,     &me->square,     &me->half,
        &t->upper,        &t->last,          &t->low,         &t->high,
        &t->upper_of_q,
    };

    WARPRSA_UNROLL
    for (int i = 0; i < 5; i++)
        warprsa_narrow_opaque(&me->parts[i]);
    WARPRSA_UNROLL
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        warprsa_narrow_opaque(words[i]);
}

/* Stores the power, or as much of it as the block has. */
static __device__ __forceinline__ void
warprsa_narrow_store_power(const warprsa_narrow_lane *me,
                           const warprsa_fold_batch &launch, const double *a)
{
    const bool is_end = WARPRSA_NARROW_CURRENT(low) == 0;
    const warprsa_narrow_own own = warprsa_narrow_own_number(launch);
    double *to = warprsa_narrow_samples_of_lane(
        is_end ? warprsa_narrow_raised(launch, own)
               : warprsa_narrow_begun(launch, own));

    if (own.present && to != nullptr) {
        WARPRSA_UNROLL
        for (int i = 0; i < 2 * ROUNDS; i++)
            if (warprsa_narrow_takes_part(me, i / 2))
                to[i / 2 * 4 + i % 2] = a[i];
    }
    if (!is_end) {
        volatile uint32_t *begun = warprsa_narrow_is_begun(launch);

        __threadfence();
        __syncthreads();
        if (warprsa_narrow_thread_index() == 0)
            *begun = 1;
    }
}

/* The block's part of the power of one prime of an item. With one round and
 * MANY blocks few warps are without numbers, and these compute something. */
template <int BLOCKS>
static __device__ __forceinline__ void
warprsa_narrow_part_of_power(const warprsa_fold_batch &launch, uint8_t *memory)
{
    const uint32_t power = WARPRSA_NARROW_CURRENT(power), item = power / 2;
    const uint32_t thread = warprsa_narrow_thread_index();
    const warprsa_narrow_own own = warprsa_narrow_own_number(launch);
    /* As in `own`. But of that, or by own.present below, ptxas 13.0 makes worse
     * loops of RSA-2048 and RSA-3072. */
    const uint32_t number = thread / WARPRSA_NARROW_LANES;
    const uint32_t first = warprsa_narrow_first_of_key(launch, item);
    const warprsa_narrow_key *keys = warprsa_narrow_scratch(launch, first)->key;
    const warprsa_narrow_key *key = keys + own.prime;
    const bool both = SHORT > 0 && WARPRSA_NARROW_CURRENT(both) != 0;
    const uint32_t shared = warprsa_narrow_memory();
    const int digits = (int)WARPRSA_NARROW_CURRENT(digits);
    warprsa_narrow_lane me;
    warprsa_narrow_thread t;
    warprsa_narrow_look look;
    double a[2 * ROUNDS];

    warprsa_narrow_load_exponents(launch, own, memory);
    if (both)
        warprsa_narrow_load_matrix_of_q(keys + 1, memory);
    warprsa_narrow_set_lane(&me, shared, (int)number,
                            (int)(thread % WARPRSA_NARROW_LANES), key);
    warprsa_narrow_set_thread(&t, shared, keys + power % 2, both);
    if (ROUNDS == 1)
        warprsa_narrow_set_own_look(&look, shared, (int)number,
                                    (int)(thread % WARPRSA_NARROW_LANES));
    else
        warprsa_narrow_set_look(&look, shared,
                                (int)(thread / 32 - FIRST_LOOKER),
                                (int)(thread % 32));
    warprsa_narrow_keep(&me, &t);
    warprsa_narrow_opaque(&look.table);
    if (warprsa_narrow_ends_another(launch))
        warprsa_narrow_wait(launch);
    __syncthreads();
#if WARPRSA_NARROW_LIMBS == 30
    if (number < WARPRSA_NARROW_NUMBERS)
        warprsa_narrow_store_starts(&me, (int)(thread % WARPRSA_NARROW_LANES),
                                    key);
#endif
    warprsa_narrow_load_number(&me, &look, launch, a);
    warprsa_narrow_load_start(&me, launch);
    __syncthreads();
    /* The same for all of a warp, and public. */
    if (ROUNDS > 1 &&
        __shfl_sync(0xffffffffu, number, 0) >= WARPRSA_NARROW_NUMBERS)
        warprsa_narrow_fold_and_look(&me, &t, a, &look, digits);
    else if ((BLOCKS == FEW || ROUNDS > 1) &&
             __shfl_sync(0xffffffffu,
                         both ? number % WARPRSA_NARROW_OF_EACH : number,
                         0) >= launch.items[item].count)
        warprsa_narrow_fold_only(&me, &t, a, digits);
    else
        warprsa_narrow_power(&me, &t, a, &look,
                             shared + WARPRSA_NARROW_EXPONENT +
                                 4 * WARPRSA_NARROW_EXPONENT_WORDS * number,
                             digits);
    warprsa_narrow_store_power(&me, launch, a);
}

template <int BLOCKS>
__global__ void __launch_bounds__(POWER_THREADS, BLOCKS)
    warprsa_narrow_fold_powers(
        const __grid_constant__ warprsa_fold_batch launch)
{
    WARPRSA_STAGE(MODEXP);
    uint8_t *const memory = reinterpret_cast<uint8_t *>(warprsa_shared);

    if (BLOCKS > MOST) /* nothing launches it */
        return;
    warprsa_narrow_first_work(launch);
    while (warprsa_narrow_next_work(launch))
        warprsa_narrow_part_of_power<BLOCKS>(launch, memory);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < POWER_SHARED / 4; i += POWER_THREADS)
        reinterpret_cast<volatile uint32_t *>(memory)[i] = 0;
}

#endif
