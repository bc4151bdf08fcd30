/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A power, or a part of it, of the numbers of a block by the narrow fold
 * (narrow.h), from factors and exponents in shared memory.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_POWER_CUH
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_POWER_CUH

#include "gpu/kernels/narrow_fold/work.cuh"

/* What a thread of the power has besides its lane: its part of the matrix, and
 * where it reads columns and puts words for the tensor cores' instruction. */
struct warprsa_narrow_thread {
    uint4 matrix[WARPRSA_NARROW_TILES * WARPRSA_NARROW_STEPS];
    uint32_t upper, last, low, high;
    uint32_t upper_of_q;
    bool both;
    int shift;
};

/* The number of 16 bytes of a matrix that the thread has first; the others
 * are 32 apart. */
static __device__ __forceinline__ uint32_t warprsa_narrow_fragment(void)
{
    const uint32_t thread = warprsa_narrow_thread_index();

    return thread / 32 * (WARPRSA_NARROW_TILES * WARPRSA_NARROW_STEPS * 32) +
           thread % 32;
}

/* In a block of both primes, the upper columns of the numbers modulo q are
 * zeros for the matrix of p, and the other way round. */
static __device__ __forceinline__ void
warprsa_narrow_set_thread(warprsa_narrow_thread *t, uint32_t shared,
                          const warprsa_narrow_key *key, bool both)
{
    static constexpr warprsa_narrow_word_places words[] =
        WARPRSA_NARROW_WORD_PLACES;
    const uint32_t thread = warprsa_narrow_thread_index();
    const uint32_t warp = thread / 32, group = thread % 32 / 4;
    const uint32_t quarter = thread % 4;
    const warprsa_narrow_word_places word = words[8 * warp + group];
    const uint4 *matrix = reinterpret_cast<const uint4 *>(key->matrix);
    const uint32_t to = shared + WARPRSA_NARROW_WORDS +
                        2 * quarter * WARPRSA_NARROW_WORDS_STRIDE;

    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_NARROW_TILES * WARPRSA_NARROW_STEPS; i++)
        t->matrix[i] = matrix[warprsa_narrow_fragment() + 32 * i];
    t->upper = shared + WARPRSA_NARROW_UPPER +
               group * WARPRSA_NARROW_UPPER_STRIDE + 16 * quarter;
    t->upper_of_q = 0;
    t->both = both;
    if (both) {
        const uint32_t zeros = shared + WARPRSA_NARROW_A_ZEROS +
                               group * WARPRSA_NARROW_STRIDE + 16 * quarter;
        const bool is_q = group >= WARPRSA_NARROW_OF_EACH;

        t->upper_of_q = is_q ? t->upper : zeros;
        t->upper = is_q ? zeros : t->upper;
    }
    t->last = shared + WARPRSA_NARROW_LAST +
              group * WARPRSA_NARROW_LAST_STRIDE + 8 * quarter;
    t->low = to + word.low;
    t->high = to + word.high;
    t->shift = word.shift;
}

/* d += 16 digits of 32 rows times 32 bytes of eight numbers. */
static __device__ __forceinline__ void
warprsa_narrow_mma(uint32_t *d, const uint4 &rows, uint64_t bytes)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(rows.x), "r"(rows.y), "r"(rows.z), "r"(rows.w),
                   "r"((uint32_t)bytes), "r"((uint32_t)(bytes >> 32)));
}

/*
 * A barrier of the block. Warps with numbers and warps without come to it by
 * different instructions, which __syncthreads() and bar.sync do not allow: they
 * are barrier.sync.aligned, and that means one instruction for all of the block
 * (PTX ISA, "barrier"). The form without .aligned allows it.
 */
static __device__ __forceinline__ void warprsa_narrow_barrier(void)
{
    asm volatile("barrier.sync 0, %0;" ::"n"(POWER_THREADS) : "memory");
}

/* The bytes of upper columns that a thread has for the instruction. */
static __device__ __forceinline__ void
warprsa_narrow_load_bytes(uint64_t *bytes, const warprsa_narrow_thread *t)
{
    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_NARROW_STEPS / 2; i++)
        warprsa_narrow_load(bytes + 2 * i, t->upper + 64 * i);
    if (ROUNDS == 1)
        asm volatile("ld.shared.u64 %0, [%1];"
                     : "=l"(bytes[4])
                     : "r"(t->last)
                     : "memory");
}

/* In a block of both primes: adds what the numbers modulo q get, by their
 * matrix in shared memory. */
static __device__ __forceinline__ void
warprsa_narrow_fold_of_q(uint32_t d[][4], const warprsa_narrow_thread *t)
{
    const uint32_t matrix =
        warprsa_narrow_memory() + MATRIX_OF_Q + 16 * warprsa_narrow_fragment();

    WARPRSA_UNROLL
    for (int i = 0; i < WARPRSA_NARROW_STEPS; i += 2) {
        uint64_t bytes[2];

        warprsa_narrow_load(bytes, t->upper_of_q + 32 * i);
        WARPRSA_UNROLL
        for (int k = 0; k < 2; k++) {
            uint4 rows[2];

            for (int tile = 0; tile < 2; tile++)
                asm volatile(
                    "ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                    : "=r"(rows[tile].x), "=r"(rows[tile].y),
                      "=r"(rows[tile].z), "=r"(rows[tile].w)
                    : "r"(matrix + 512 * (tile * WARPRSA_NARROW_STEPS + i + k))
                    : "memory");
            warprsa_narrow_mma(d[k], rows[0], bytes[k]);
            warprsa_narrow_mma(d[2 + k], rows[1], bytes[k]);
        }
    }
}

/* The step `carry`, and what changes lanes in it (narrow_host.h says why). */
static __device__ __forceinline__ void
warprsa_narrow_carry_samples(const warprsa_narrow_lane *me, double *a,
                             const uint64_t c[][2])
{
    uint64_t y[ROUNDS][2];
    uint32_t carry[ROUNDS];

    WARPRSA_UNROLL
    for (int i = 0; i < ROUNDS; i++)
        carry[i] = warprsa_narrow_sums(me, c[i], y[i], i);
#if WARPRSA_NARROW_LIMBS == 30
    /* Out of the second round, and out of the first. */
    const uint32_t from_second = __shfl_sync(
        0xffffffffu, carry[1], me->carry_from, WARPRSA_NARROW_LANES);

    carry[1] = __shfl_sync(0xffffffffu, carry[0], me->other_carry_from,
                           WARPRSA_NARROW_LANES);
    carry[0] = me->odd ? carry[1] : from_second;
#elif WARPRSA_NARROW_LIMBS == 40
    const uint32_t first = me->odd ? carry[1] : carry[0];
    const uint32_t second = me->odd ? carry[0] : carry[1];

    carry[0] =
        __shfl_sync(0xffffffffu, first, me->carry_from, WARPRSA_NARROW_LANES);
    carry[1] = __shfl_sync(0xffffffffu, second, me->other_carry_from,
                           WARPRSA_NARROW_LANES);
#else
    carry[0] = __shfl_sync(0xffffffffu, carry[0], me->carry_from,
                           WARPRSA_NARROW_LANES);
#endif
    WARPRSA_UNROLL
    for (int i = 0; i < ROUNDS; i++)
        warprsa_narrow_samples(me, a + 2 * i, y[i], carry[i], i);
}

/*
 * One product of narrow.h: a square or, with MULTIPLY, a multiplication. With
 * CHOOSE it looks at four entries of the tables meanwhile. A warp without
 * numbers (OWN is false) takes part in the fold alone.
 */
template <bool MULTIPLY, bool CHOOSE, bool OWN>
static __device__ __forceinline__ void warprsa_narrow_step(
    const warprsa_narrow_lane *me, const warprsa_narrow_thread *t, double *a,
    warprsa_narrow_look *look, uint32_t from, const uint32_t *digit)
{
    uint64_t c[ROUNDS][2] = {}, bytes[WARPRSA_NARROW_STEPS];
    uint32_t d[4][4];

    if (OWN) {
        warprsa_narrow_product(me, MULTIPLY);
        __syncwarp();
        warprsa_narrow_columns(me, c, MULTIPLY);
        __syncwarp();
        warprsa_narrow_top(me, c);
    }
    warprsa_narrow_barrier();
    warprsa_narrow_load_bytes(bytes, t);
    WARPRSA_UNROLL
    for (int i = 0; i < 16; i++)
        d[i / 4][i % 4] = 0;
    WARPRSA_UNROLL
    for (int k = 0; k < WARPRSA_NARROW_STEPS; k++) {
        warprsa_narrow_mma(d[k % 2], t->matrix[k], bytes[k]);
        warprsa_narrow_mma(d[2 + k % 2], t->matrix[WARPRSA_NARROW_STEPS + k],
                           bytes[k]);
    }
    if (SHORT > 0 && t->both)
        warprsa_narrow_fold_of_q(d, t);
    if (CHOOSE)
        warprsa_narrow_choose(look, from, digit);
    WARPRSA_UNROLL
    for (int i = 0; i < 4; i++) {
        d[0][i] += d[1][i];
        d[2][i] += d[3][i];
    }
    WARPRSA_UNROLL
    for (int i = 0; i < 2; i++)
        warprsa_narrow_put_word(t->low + i * WARPRSA_NARROW_WORDS_STRIDE,
                                t->high + i * WARPRSA_NARROW_WORDS_STRIDE,
                                t->shift, d[0][i], d[0][i + 2], d[2][i],
                                d[2][i + 2]);
    warprsa_narrow_barrier();
    if (OWN) {
        warprsa_narrow_carry_samples(me, a, c);
        __syncwarp();
    }
}

/* Stores the lane's samples at an address in each round. */
static __device__ __forceinline__ void
warprsa_narrow_store_rounds(const warprsa_narrow_lane *me, uint32_t at,
                            const double *a)
{
    WARPRSA_UNROLL
    for (int i = 0; i < ROUNDS; i++)
        if (warprsa_narrow_takes_part(me, i))
            warprsa_narrow_store_samples(at + WARPRSA_NARROW_ROUND * i,
                                         a + 2 * i);
}

/* Digit `index` of the exponent at a shared address. */
static __device__ __forceinline__ uint32_t
warprsa_narrow_digit(uint32_t exponent, int index)
{
    const uint32_t at = exponent + warprsa_narrow_digit_word(index) * 4;
    uint32_t word, next = 0;

    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(at) : "memory");
    if (32 % WARPRSA_NARROW_WINDOW != 0)
        asm volatile("ld.shared.u32 %0, [%1];"
                     : "=r"(next)
                     : "r"(at + 4)
                     : "memory");
    return warprsa_narrow_digit_of(word, next, index);
}

/* The first warp that looks for others. */
static constexpr uint32_t FIRST_LOOKER = WARPRSA_NARROW_NUMBERS / 2;

/* Where a lane's samples are in entry 0 of the table: with one round where it
 * looks, too. */
static __device__ __forceinline__ uint32_t
warprsa_narrow_own_entry(const warprsa_narrow_look *look)
{
    static constexpr warprsa_narrow_lane_places places[] =
        WARPRSA_NARROW_LANE_PLACES;

    if (ROUNDS == 1)
        return look->table;

    const uint32_t thread = warprsa_narrow_thread_index();
    const int pair = places[thread % WARPRSA_NARROW_LANES].pair;

    return warprsa_narrow_memory() +
           warprsa_narrow_table_at((int)(thread / WARPRSA_NARROW_LANES),
                                   warprsa_narrow_pair(pair, 0));
}

/* Stores a lane's samples as an entry of the table. */
static __device__ __forceinline__ void
warprsa_narrow_put_entry(const warprsa_narrow_lane *me,
                         const warprsa_narrow_look *look, int entry,
                         const double *a)
{
    if (me->low) {
        const uint32_t to =
            warprsa_narrow_own_entry(look) + WARPRSA_NARROW_TABLE_ROW * entry;

        WARPRSA_UNROLL
        for (int i = 0; i < ROUNDS; i++)
            if (warprsa_narrow_takes_part(me, i))
                warprsa_narrow_store_samples(to + 32 * i, a + 2 * i);
    }
}

/* The factor a = an entry of the table. */
static __device__ __forceinline__ void
warprsa_narrow_get_entry(const warprsa_narrow_lane *me,
                         const warprsa_narrow_look *look, int entry)
{
    if (me->low) {
        const uint32_t from =
            warprsa_narrow_own_entry(look) + WARPRSA_NARROW_TABLE_ROW * entry;

        WARPRSA_UNROLL
        for (int i = 0; i < ROUNDS; i++)
            if (warprsa_narrow_takes_part(me, i)) {
                uint64_t x[2];

                warprsa_narrow_load(x, from + 32 * i);
                warprsa_narrow_store(me->number + WARPRSA_NARROW_ROUND * i,
                                     x[0], x[1]);
            }
    }
    __syncwarp();
}

/* Begins to choose by a digit of each number that the lane looks for. */
static __device__ __forceinline__ void
warprsa_narrow_next_digits(warprsa_narrow_look *look, uint32_t *digit,
                           const uint32_t *exponent, int index)
{
    WARPRSA_UNROLL
    for (int k = 0; k < WARPRSA_NARROW_LOOKS; k++)
        digit[k] = warprsa_narrow_digit(exponent[k], index);
    warprsa_narrow_clear_look(look);
}

/* Puts what was chosen for others where multiplications find it. */
static __device__ __forceinline__ void
warprsa_narrow_put_factors(const warprsa_narrow_look *look)
{
    const uint32_t thread = warprsa_narrow_thread_index();
    warprsa_narrow_look chosen = *look;

    chosen.lane = (int)(thread % 32);
    warprsa_narrow_put_chosen(&chosen, warprsa_narrow_memory(),
                              (int)(thread / 32 - FIRST_LOOKER));
}

/* Where a number's exponent is. */
static __device__ __forceinline__ uint32_t
warprsa_narrow_exponent(uint32_t number)
{
    return warprsa_narrow_memory() + WARPRSA_NARROW_EXPONENT +
           4 * WARPRSA_NARROW_EXPONENT_WORDS * number;
}

/* Those of the numbers that a lane looks for; of any, where it has no pair. */
static __device__ __forceinline__ void
warprsa_narrow_set_exponents(uint32_t *exponent,
                             const warprsa_narrow_look *look)
{
    constexpr uint32_t numbers = WARPRSA_NARROW_LOOKER_NUMBERS;
    const uint32_t first = numbers * (threadIdx.x / 32 - FIRST_LOOKER);

    WARPRSA_UNROLL
    for (int k = 0; k < WARPRSA_NARROW_LOOKS; k++) {
        const uint32_t number = (uint32_t)warprsa_narrow_look_number(look, k);

        exponent[k] = warprsa_narrow_exponent(
            first + (number < numbers ? number : numbers - 1));
    }
}

/* The squares of a digit, with one round: each lane looks through the table for
 * itself, and puts what it chose where the multiplication finds it. */
static __device__ __forceinline__ void warprsa_narrow_squares_and_look(
    const warprsa_narrow_lane *me, const warprsa_narrow_thread *t, double *a,
    warprsa_narrow_look *look, uint32_t exponent, int index)
{
    uint32_t digit[WARPRSA_NARROW_LOOKS];

    warprsa_narrow_next_digits(look, digit, &exponent, index);
    WARPRSA_ROLLED
    for (uint32_t i = 0; i < 4 * WARPRSA_NARROW_WINDOW; i += 4)
        warprsa_narrow_step<false, true, true>(me, t, a, look, i, digit);
    if (me->low)
        warprsa_narrow_store(me->number + WARPRSA_NARROW_B, look->entry[0][0],
                             look->entry[0][1]);
    __syncwarp();
}

/* Where the thread has what its samples begin with. */
static __device__ __forceinline__ uint32_t warprsa_narrow_start_at(void)
{
    return warprsa_narrow_memory() + START +
           16 * ROUNDS * warprsa_narrow_thread_index();
}

/* The factor a = that. */
static __device__ __forceinline__ void
warprsa_narrow_start(const warprsa_narrow_lane *me)
{
    if (me->low) {
        WARPRSA_UNROLL
        for (int i = 0; i < ROUNDS; i++)
            if (warprsa_narrow_takes_part(me, i)) {
                uint64_t x[2];

                warprsa_narrow_load(x, warprsa_narrow_start_at() + 16 * i);
                warprsa_narrow_store(me->number + WARPRSA_NARROW_A +
                                         WARPRSA_NARROW_ROUND * i,
                                     x[0], x[1]);
            }
    }
    __syncwarp();
}

/* a = a^exponent. Entries 2 and up of the table come first, by the code that
 * ends each digit; then a begins as 1, or where another block left it. With two
 * rounds even entries are squares by the code of a digit's, and the warps
 * without numbers look through the tables; with one each lane does for
 * itself. */
static __device__ __forceinline__ void
warprsa_narrow_power(const warprsa_narrow_lane *me,
                     const warprsa_narrow_thread *t, double *a,
                     warprsa_narrow_look *look, uint32_t exponent, int windows)
{
    int index = windows - 1, entry = 2;

    WARPRSA_ROLLED
    for (;;) {
        const bool is_digit = entry > WARPRSA_NARROW_ENTRIES;
        const bool is_square = ROUNDS > 1 && !is_digit && entry % 2 == 0;

        if (ROUNDS == 1) {
            if (is_digit)
                warprsa_narrow_squares_and_look(me, t, a, look, exponent,
                                                index--);
        } else {
            int squares = 0;

            if (is_digit) {
                index--;
                squares = WARPRSA_NARROW_WINDOW;
            } else if (is_square) {
                warprsa_narrow_get_entry(me, look, entry / 2);
                squares = 1;
            }
            WARPRSA_ROLLED
            for (int i = 0; i < squares; i++)
                warprsa_narrow_step<false, false, true>(me, t, a, look, 0,
                                                        nullptr);
        }
        if (!is_square)
            warprsa_narrow_step<true, false, true>(me, t, a, look, 0, nullptr);
        if (entry < WARPRSA_NARROW_ENTRIES) {
            warprsa_narrow_put_entry(me, look, entry, a);
            if (++entry == WARPRSA_NARROW_ENTRIES) {
                warprsa_narrow_start(me);
                entry++;
            }
        } else if (index < 0) {
            break;
        }
    }
}

/* Products of a power: the products of the table, and of its digits. */
static __device__ __forceinline__ int warprsa_narrow_products(int windows)
{
    return WARPRSA_NARROW_ENTRIES - 2 + (WARPRSA_NARROW_WINDOW + 1) * windows;
}

/* The part of a warp whose numbers are absent in as many products. */
static __device__ __forceinline__ void
warprsa_narrow_fold_only(const warprsa_narrow_lane *me,
                         const warprsa_narrow_thread *t, double *a, int windows)
{
    const int products = warprsa_narrow_products(windows);

    WARPRSA_ROLLED
    for (int i = 0; i < products; i++)
        warprsa_narrow_step<false, false, false>(me, t, a, nullptr, 0, nullptr);
}

/* What a lane looks at beside square `square` of a digit. */
static __device__ __forceinline__ void
warprsa_narrow_choose_beside(warprsa_narrow_look *look, int square,
                             const uint32_t *digit)
{
    constexpr uint32_t entries = WARPRSA_NARROW_ENTRIES;
    uint32_t from = 4 * WARPRSA_NARROW_LOOK_FOURS * (uint32_t)square;

    WARPRSA_ROLLED
    for (int i = 0; i < WARPRSA_NARROW_LOOK_FOURS; i++, from += 4)
        if (from < entries)
            warprsa_narrow_choose(look, from, digit);
}

/*
 * The same, with a look at some entries of the tables in each square, while
 * other warps have their products. What is chosen for a digit is put during its
 * last square: before the barrier that this square's fold begins with. The
 * factors before it are those of a multiplication that is done, and the next
 * multiplication comes two barriers later.
 */
static __device__ __forceinline__ void
warprsa_narrow_fold_and_look(const warprsa_narrow_lane *me,
                             const warprsa_narrow_thread *t, double *a,
                             warprsa_narrow_look *look, int windows)
{
    uint32_t exponent[WARPRSA_NARROW_LOOKS], digit[WARPRSA_NARROW_LOOKS] = {};
    int index = windows;
    /* Of the table; then of a digit, the last of which is the multiplication.
     * Those of the table count as such. */
    int table_left = WARPRSA_NARROW_ENTRIES - 2;
    int product = WARPRSA_NARROW_WINDOW;

    warprsa_narrow_set_exponents(exponent, look);
    WARPRSA_ROLLED
    for (;;) {
        if (product < WARPRSA_NARROW_WINDOW) {
            warprsa_narrow_choose_beside(look, product, digit);
            if (product == WARPRSA_NARROW_WINDOW - 1)
                warprsa_narrow_put_factors(look);
        }
        warprsa_narrow_step<false, false, false>(me, t, a, look, 0, digit);
        if (table_left > 0)
            table_left--;
        if (table_left > 0 || product++ < WARPRSA_NARROW_WINDOW)
            continue;
        if (--index < 0)
            break;
        warprsa_narrow_next_digits(look, digit, exponent, index);
        product = 0;
    }
}

#endif
