/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which powers, and which digits of them, a block of the kernel "powers"
 * computes. There are two powers for each item (plan.h), one for each prime,
 * and all take as long.
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
 * load is at least as long as a power, so both parts of one do not overlap: the
 * part behind the cut is done after as many digits as it has, and the part
 * before it begins when all else of its load is done, which is no less.
 *
 * Times are in digits of an exponent, with all of a digit's products. A table
 * takes TABLE_DIGITS. Both blocks of a power that is cut make it, so a load is
 * longer by this number. A part must be worth that: no power is cut so near to
 * one of its ends.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_PARTS_H
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_PARTS_H

#include "gpu/kernels/narrow_fold/layout.h"

enum {
    /* The products of a table, in those of a digit, rounded up. */
    WARPRSA_NARROW_TABLE_DIGITS =
        (WARPRSA_NARROW_ENTRIES - 2 + WARPRSA_NARROW_WINDOW) /
        (WARPRSA_NARROW_WINDOW + 1),
};

/* What a block computes of a power: digits low..low + digits - 1 of the
 * exponents, counted from the least significant one. */
typedef struct warprsa_narrow_part {
    uint32_t power;
    int low, digits;
} warprsa_narrow_part;

/* Where a block's load begins, and the one before it ends: at a power, of which
 * that block has the lowest `ended` digits, if any. */
typedef struct warprsa_narrow_cut {
    uint32_t power;
    int ended;
} warprsa_narrow_cut;

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

/* The beginning of the load of block `block` of `blocks`, which is the end if
 * it is `blocks`; blocks <= powers, and exponents have `windows` digits. */
WARPRSA_FN warprsa_narrow_cut warprsa_narrow_cut_at(uint32_t block,
                                                    uint32_t blocks,
                                                    uint32_t powers,
                                                    int windows)
{
    const uint32_t table = WARPRSA_NARROW_TABLE_DIGITS;
    const uint32_t each = (uint32_t)windows + table;
    const uint32_t load = (powers * each + blocks - 1) / blocks;
    const uint32_t at = block * load;
    warprsa_narrow_cut cut = {at / each, (int)(at % each)};

    if (cut.power >= powers)
        return (warprsa_narrow_cut){powers, 0};
    if (cut.ended + (int)table >= (int)each) {
        cut.power++;
        cut.ended = 0;
    }
    if (cut.ended <= (int)table)
        cut.ended = 0;
    return cut;
}

/* Part `index` of a load from `begin` to `end`, in the order of time; false if
 * there is none. */
WARPRSA_FN bool warprsa_narrow_part_of(warprsa_narrow_part *part,
                                       warprsa_narrow_cut begin,
                                       warprsa_narrow_cut end, uint32_t index,
                                       int windows)
{
    part->power = begin.power + index;
    part->low = index == 0 ? begin.ended : 0;
    part->digits = (part->power == end.power ? end.ended : windows) - part->low;
    return part->power < end.power ||
           (part->power == end.power && end.ended > 0);
}

#endif
