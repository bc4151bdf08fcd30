/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which powers, and which digits of them, a block of the kernel "powers"
 * computes.
 *
 * There are two powers for each item (plan.h), one for each prime, with numbers
 * 2 i and 2 i + 1 for item i. A short item may have one instead, number 2 i,
 * for a block has room for its numbers of both primes: a power of both primes.
 * Each of its products folds by two matrices, of which one lies in shared
 * memory, and takes TIME_OF_BOTH / TIME times as long as another one
 * (doc/kernels/narrow_fold.md, N19).
 *
 * Where there are more powers than blocks at work at the same time, whole ones
 * would leave most of the device idle at the end. So each block gets the same
 * time: the powers in their order are one line, which is cut into as many equal
 * loads as there are blocks. This is McNaughton's wrap-around rule (R.
 * McNaughton, "Scheduling with deadlines and loss functions", Management
 * Science 6, 1959), by which no schedule ends sooner.
 *
 * A power that a cut falls into is begun by the block behind the cut, as the
 * first thing that it does, and ended by the block before it, as its last. A
 * load is at least as long as the longest power, so no power is cut twice, and
 * both parts of one do not overlap: the part behind the cut is done after as
 * many digits as it has, and the part before it begins when all else of its
 * load is done, which is no less.
 *
 * Times are in digits of an exponent, with all of a digit's products. A table
 * takes TABLE_DIGITS. Both blocks of a power that is cut make it, so a load is
 * longer by this number. A part must be worth that: no power is cut so near to
 * one of its ends.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_PARTS_H
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_PARTS_H

#include "gpu/kernels/fold_common/plan.h"
#include "gpu/kernels/narrow_fold/layout.h"

enum {
    /* The products of a table, in those of a digit, rounded up. */
    WARPRSA_NARROW_TABLE_DIGITS =
        (WARPRSA_NARROW_ENTRIES - 2 + WARPRSA_NARROW_WINDOW) /
        (WARPRSA_NARROW_WINDOW + 1),
    /* What a digit takes in a power of one prime, and of both. */
    WARPRSA_NARROW_TIME = 8,
    WARPRSA_NARROW_TIME_OF_BOTH = 11,
};

/* The powers of a launch. */
typedef struct warprsa_narrow_line {
    const warprsa_fold_item *items;
    uint32_t count; /* of items, at least one */
    /* shorts[i * shorts_stride]: short items before item i. Not read where none
     * is short. */
    const uint32_t *shorts;
    uint32_t shorts_stride;
    int windows; /* digits of an exponent */
    bool both;   /* short items have powers of both primes */
} warprsa_narrow_line;

/* A place in the line: at a power, of which the lowest `ended` digits, if any,
 * are before it. */
typedef struct warprsa_narrow_cut {
    uint32_t power;
    int ended;
} warprsa_narrow_cut;

/* What is left of a block's load. */
typedef struct warprsa_narrow_share {
    warprsa_narrow_cut begin, end;
} warprsa_narrow_share;

/* What a block computes of a power: digits low..low + digits - 1 of the
 * exponents, counted from the least significant one. */
typedef struct warprsa_narrow_part {
    uint32_t power;
    int low, digits;
} warprsa_narrow_part;

/*
 * How many blocks compute so many powers, on `sms` SMs that take up to `most`
 * blocks each: one for each power if all fit at once, unless it pays that each
 * SM has one block less. The time of k blocks on an SM is less than that of k +
 * 1, and by how much was measured (doc/kernels/narrow_fold.md, N15): powers are
 * worth cutting for up to two fifths of a second block on each SM, and for up
 * to four fifths of a third or fourth one.
 */
static inline uint32_t warprsa_narrow_power_blocks(uint32_t powers,
                                                   uint32_t sms, uint32_t most)
{
    const uint32_t each = powers / sms; /* SM has at least so many */
    const uint32_t fifths = each < 2 ? 2 : 4;

    if (each >= most)
        return most * sms;
    if (each > 0 && 5 * powers <= (5 * each + fifths) * sms)
        return each * sms;
    return powers;
}

WARPRSA_FN bool warprsa_narrow_is_short(const warprsa_fold_item *item)
{
    return item->count <= WARPRSA_NARROW_SHORT;
}

/* Whether an item has one power, of both primes. */
WARPRSA_FN bool warprsa_narrow_is_both(const warprsa_narrow_line *line,
                                       uint32_t item)
{
    return line->both && warprsa_narrow_is_short(&line->items[item]);
}

/* How many short items there are before item `item`, which may be the end. */
WARPRSA_FN uint32_t warprsa_narrow_shorts(const warprsa_narrow_line *line,
                                          uint32_t item)
{
    const uint32_t last = line->count - 1;

    if (item <= last)
        return line->shorts[item * line->shorts_stride];
    return line->shorts[last * line->shorts_stride] +
           warprsa_narrow_is_short(&line->items[last]);
}

/* The time of all powers before an item's, a power of one prime being TIME. */
WARPRSA_FN uint32_t warprsa_narrow_time_before(const warprsa_narrow_line *line,
                                               uint32_t item)
{
    const uint32_t saved =
        2 * WARPRSA_NARROW_TIME - WARPRSA_NARROW_TIME_OF_BOTH;
    const uint32_t shorts = line->both ? warprsa_narrow_shorts(line, item) : 0;

    return 2 * WARPRSA_NARROW_TIME * item - saved * shorts;
}

/* The time of a block's load: no less than the time of a power. */
WARPRSA_FN uint32_t warprsa_narrow_time_of_load(const warprsa_narrow_line *line,
                                                uint32_t blocks)
{
    const uint32_t longest =
        line->both ? WARPRSA_NARROW_TIME_OF_BOTH : WARPRSA_NARROW_TIME;
    const uint32_t each = (uint32_t)line->windows + WARPRSA_NARROW_TABLE_DIGITS;
    const uint32_t all = warprsa_narrow_time_before(line, line->count);
    const uint32_t load = (all * each + blocks - 1) / blocks;

    return load > longest * each ? load : longest * each;
}

/* Chooses for so many blocks: short items get powers of both primes if loads
 * are shorter then for as many blocks as are the line's share of a device that
 * has `all` items to compute, those of other launches, too. */
WARPRSA_FN void warprsa_narrow_choose_both(warprsa_narrow_line *line,
                                           uint32_t all, uint32_t blocks)
{
    const uint32_t part = (uint32_t)((uint64_t)blocks * line->count / all);
    const uint32_t share = part > 0 ? part : 1;
    uint32_t alone;

    line->both = false;
    if (WARPRSA_NARROW_SHORT == 0 ||
        warprsa_narrow_shorts(line, line->count) == 0)
        return;
    alone = warprsa_narrow_time_of_load(line, share);
    line->both = true;
    line->both = warprsa_narrow_time_of_load(line, share) < alone;
}

/* The item that has so much of the line's time, by halving. */
WARPRSA_FN uint32_t warprsa_narrow_item_at(const warprsa_narrow_line *line,
                                           uint32_t time)
{
    uint32_t low = 0, high = line->count - 1;

    while (low < high) {
        const uint32_t middle = (low + high + 1) / 2;

        if (warprsa_narrow_time_before(line, middle) <= time)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The power behind one. */
WARPRSA_FN uint32_t warprsa_narrow_power_after(const warprsa_narrow_line *line,
                                               uint32_t power)
{
    return power + (warprsa_narrow_is_both(line, power / 2) ? 2 : 1);
}

/* The beginning of the load of block `block` of `blocks`, which is the end if
 * it is `blocks`. */
WARPRSA_FN warprsa_narrow_cut warprsa_narrow_cut_at(
    const warprsa_narrow_line *line, uint32_t blocks, uint32_t block)
{
    const int table = WARPRSA_NARROW_TABLE_DIGITS;
    const uint32_t each = (uint32_t)(line->windows + table);
    const uint32_t at = block * warprsa_narrow_time_of_load(line, blocks);
    const uint32_t item = warprsa_narrow_item_at(line, at / each);
    const bool both = warprsa_narrow_is_both(line, item);
    const uint32_t digit =
        both ? WARPRSA_NARROW_TIME_OF_BOTH : WARPRSA_NARROW_TIME;
    const uint32_t within = at - warprsa_narrow_time_before(line, item) * each;
    const uint32_t which = within / (digit * each); /* 1: the second power */
    warprsa_narrow_cut cut = {2 * item + which,
                              (int)(within / digit - which * each)};

    if (at >= warprsa_narrow_time_before(line, line->count) * each)
        return (warprsa_narrow_cut){2 * line->count, 0};
    if (cut.ended + table >= (int)each) {
        cut.power = warprsa_narrow_power_after(line, cut.power);
        cut.ended = 0;
    }
    if (cut.ended <= table)
        cut.ended = 0;
    return cut;
}

WARPRSA_FN warprsa_narrow_share warprsa_narrow_share_of(
    const warprsa_narrow_line *line, uint32_t blocks, uint32_t block)
{
    return (warprsa_narrow_share){
        warprsa_narrow_cut_at(line, blocks, block),
        warprsa_narrow_cut_at(line, blocks, block + 1)};
}

/* Takes the next part of a load, in the order of time; false if there is
 * none. */
WARPRSA_FN bool warprsa_narrow_take_part(warprsa_narrow_part *part,
                                         warprsa_narrow_share *load,
                                         const warprsa_narrow_line *line)
{
    const warprsa_narrow_cut at = load->begin;

    if (at.power > load->end.power ||
        (at.power == load->end.power && at.ended >= load->end.ended))
        return false;
    part->power = at.power;
    part->low = at.ended;
    part->digits =
        (at.power == load->end.power ? load->end.ended : line->windows) -
        at.ended;
    load->begin =
        (warprsa_narrow_cut){warprsa_narrow_power_after(line, at.power), 0};
    return true;
}

#endif
