/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The file that keeps what calibration.h has measured. Text: a first line that
 * says what it is, a line in brackets for each subject, that is device and
 * whatever else the times depend on, and its rows:
 *
 *   [NVIDIA A30, compute 8.0, ...]
 *   2048 cooperative 8448 2389 3807 7136
 *
 * class (as bits of a modulus), kernel, wave and the three times, in
 * microseconds. Numbers are whole: no locale changes how they are written.
 *
 * An empty file is as good as none. Whoever can write it can make a device slow
 * and nothing more. It is read only if it is a regular file, no symbolic link,
 * of this user or root, and nobody else can write it.
 */
#ifndef WARPRSA_GPU_SELECT_CALIBRATION_FILE_H
#define WARPRSA_GPU_SELECT_CALIBRATION_FILE_H

#include "gpu/select/selection.h"

typedef enum warprsa_calibration_found {
    WARPRSA_CALIBRATION_FOUND,
    WARPRSA_CALIBRATION_NONE, /* no file, or none of this subject in it */
    WARPRSA_CALIBRATION_BAD,  /* not used; the reason in why */
} warprsa_calibration_found;

/* The timings of `subject`, one line of at most SUBJECT_MAX bytes without
 * brackets, that fit the candidates (warprsa_kernel_timings_fit()). */
enum {
    WARPRSA_CALIBRATION_SUBJECT_MAX = 200,
};
warprsa_calibration_found
warprsa_calibration_read(const char *path, const char *subject,
                         const warprsa_kernel_timings *candidates,
                         size_t batch_max, warprsa_kernel_timings *timings,
                         char *why, size_t why_size);

/*
 * Puts the timings in: a new file, of mode 0600, takes the place of the old one
 * at once, so that whoever reads sees the one or the other. What the old one
 * has of other devices stays, those being subjects that differ before their
 * first comma. False, with the reason in why and the old file as it was: the
 * directory can't be written, say, or what is there is no such file.
 */
bool warprsa_calibration_write(const char *path, const char *subject,
                               const warprsa_kernel_timings *timings, char *why,
                               size_t why_size);

#endif
