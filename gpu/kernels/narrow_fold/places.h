/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which lane of the narrow fold (narrow.h) does what, and where it reads and
 * writes. The places were found by a random search for an order in which no two
 * of eight lanes that access shared memory together meet in a bank;
 * tests/unit/gpu/fold_narrow.c checks that they do not, and that each column
 * gets all of its parts.
 */
#ifndef WARPRSA_GPU_KERNELS_NARROW_FOLD_PLACES_H
#define WARPRSA_GPU_KERNELS_NARROW_FOLD_PLACES_H

#include <stdint.h>

/* A lane. Pair k of samples or columns is 2 k and 2 k + 1. */
typedef struct warprsa_narrow_lane_places {
    uint8_t left, right; /* the two blocks of 4 samples that it multiplies */
    uint8_t first;       /* the pair of columns that it sums, 0..19 */
    int8_t second;       /* another one, or -1 */
    /* Where the five parts are that it sums, in bytes from the parts of its
     * number. The first is of a square, the others are of two blocks. Of the
     * second pair are: if it is 16 or 17, the fourth, and the fifth, of a
     * square; if it is 18 or 19, the fifth, of a square. */
    uint16_t part[5];
    uint8_t carry_from; /* the lane with the pair below `first` */
    uint8_t pair;       /* the pair of samples that it reads, 0..9 */
} warprsa_narrow_lane_places;

/* A word of 32 bits of the folded sum. It is added to one sample, or its lower
 * bits to one and its upper bits to the next. */
typedef struct warprsa_narrow_word_places {
    uint8_t word;
    uint8_t shift;      /* the bit of the sample at which it begins */
    uint16_t low, high; /* where the parts are put, in bytes */
} warprsa_narrow_word_places;

/* clang-format off */
#define WARPRSA_NARROW_LANE_PLACES                                             \
    {                                                                          \
        {1, 1, 4, -1, {0, 784, 16, 1184, 1152}, 11, 4},                        \
        {0, 2, 11, -1, {1008, 896, 976, 384, 336}, 1, 4},                      \
        {3, 3, 6, -1, {544, 560, 224, 176, 1152}, 4, 6},                       \
        {3, 4, 10, -1, {736, 112, 624, 64, 704}, 3, 4},                        \
        {2, 3, 5, -1, {272, 288, 1056, 1184, 1152}, 0, 5},                     \
        {0, 4, 7, -1, {816, 448, 832, 496, 1152}, 2, 7},                       \
        {0, 0, 8, -1, {192, 720, 768, 80, 160}, 5, 8},                         \
        {1, 4, 9, -1, {464, 352, 432, 1040, 992}, 6, 9},                       \
        {4, 4, 14, 16, {576, 48, 688, 592, 208}, 8, 1},                        \
        {2, 4, 15, 17, {848, 960, 320, 864, 480}, 9, 1},                       \
        {1, 3, 1, -1, {368, 1104, 1152, 1152, 1168}, 12, 1},                   \
        {1, 2, 3, -1, {912, 512, 1152, 1152, 1168}, 15, 3},                    \
        {2, 2, 0, -1, {96, 1104, 1152, 1152, 1168}, 12, 0},                    \
        {4, 4, 13, 19, {304, 416, 880, 928, 1024}, 13, 1},                     \
        {0, 3, 12, 18, {32, 656, 608, 144, 752}, 14, 1},                       \
        {0, 1, 2, -1, {640, 240, 1152, 1152, 1168}, 10, 2},                    \
    }
#if WARPRSA_NARROW_LIMBS == 20
#define WARPRSA_NARROW_WORD_PLACES                                             \
    {                                                                          \
        {0, 0, 160, 480}, {9, 28, 40, 208}, {21, 48, 256, 424},                \
        {4, 24, 176, 184}, {24, 40, 112, 280}, {22, 28, 264, 272},             \
        {26, 0, 128, 480}, {5, 4, 344, 480}, {20, 16, 416, 104},               \
        {6, 36, 24, 192}, {11, 40, 48, 216}, {2, 12, 168, 336},                \
        {23, 8, 432, 120}, {12, 20, 376, 64}, {28, 12, 296, 464},              \
        {27, 32, 448, 136}, {19, 36, 408, 96}, {14, 32, 224, 232},             \
        {16, 44, 72, 400}, {13, 0, 384, 480}, {31, 4, 152, 480},               \
        {1, 32, 0, 8}, {30, 24, 304, 312}, {15, 12, 392, 240},                 \
        {3, 44, 328, 16}, {18, 4, 248, 480}, {7, 16, 32, 200},                 \
        {17, 24, 80, 88}, {10, 8, 368, 56}, {25, 20, 440, 288},                \
        {29, 44, 456, 144}, {8, 48, 352, 360},                                 \
    }
#define WARPRSA_NARROW_PLACE_OF_WORD                                           \
    {                                                                          \
        0, 21, 11, 24, 3, 7, 9, 26, 31, 1, 28, 10, 13, 19, 17, 23,             \
        18, 27, 25, 16, 8, 2, 5, 12, 4, 29, 6, 15, 14, 30, 22, 20,             \
    }
#else
#define WARPRSA_NARROW_WORD_PLACES                                             \
    {                                                                          \
        {24, 40, 848, 536}, {3, 44, 648, 336}, {27, 32, 704, 72},              \
        {45, 36, 760, 576}, {13, 0, 352, 1280}, {61, 28, 936, 304},            \
        {14, 32, 672, 40}, {19, 36, 696, 512}, {8, 48, 1120, 488},             \
        {16, 44, 680, 368}, {23, 8, 528, 216}, {6, 36, 664, 480},              \
        {7, 16, 800, 168}, {29, 44, 712, 400}, {25, 20, 856, 64},              \
        {37, 40, 880, 568}, {17, 24, 688, 56}, {21, 48, 1152, 520},            \
        {28, 12, 392, 80}, {52, 0, 448, 1280}, {12, 20, 824, 32},              \
        {2, 12, 328, 16}, {4, 24, 656, 24}, {59, 16, 928, 296},                \
        {9, 28, 808, 176}, {26, 0, 384, 1280}, {50, 40, 912, 600},             \
        {32, 36, 728, 544}, {49, 8, 592, 280}, {57, 4, 472, 288},              \
        {33, 16, 864, 232}, {41, 12, 424, 112}, {34, 48, 1184, 552},           \
        {22, 28, 840, 208}, {62, 8, 624, 312}, {18, 4, 376, 192},              \
        {30, 24, 720, 88}, {46, 16, 896, 264}, {31, 4, 408, 224},              \
        {55, 44, 776, 464}, {40, 32, 736, 104}, {36, 8, 560, 248},             \
        {38, 20, 888, 96}, {48, 28, 904, 272}, {35, 28, 872, 240},             \
        {11, 40, 816, 504}, {47, 48, 1216, 584}, {58, 36, 792, 608},           \
        {10, 8, 496, 184}, {42, 44, 744, 432}, {51, 20, 920, 128},             \
        {20, 16, 832, 200}, {1, 32, 320, 8}, {0, 0, 0, 1280},                  \
        {15, 12, 360, 48}, {56, 24, 784, 152}, {44, 4, 440, 256},              \
        {63, 40, 944, 632}, {60, 48, 1248, 616}, {39, 0, 416, 1280},           \
        {53, 32, 768, 136}, {54, 12, 456, 144}, {43, 24, 752, 120},            \
        {5, 4, 344, 160}                                                       \
    }
#define WARPRSA_NARROW_PLACE_OF_WORD                                           \
    {                                                                          \
        53, 52, 21, 1, 22, 63, 11, 12, 8, 24, 48, 45, 20, 4, 6, 54,            \
        9, 16, 35, 7, 51, 17, 33, 10, 0, 14, 25, 2, 18, 13, 36, 38,            \
        27, 30, 32, 44, 41, 15, 42, 59, 40, 31, 49, 62, 56, 3, 37, 46,         \
        43, 28, 26, 50, 19, 60, 61, 39, 55, 29, 47, 23, 58, 5, 34, 57          \
    }
#endif
/* clang-format on */

#endif
