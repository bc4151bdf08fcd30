/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The file that keeps what calibration.h has measured. It is a text: a first
 * line that says what it is, then for each subject a line in brackets and its
 * rows. A subject names the device and whatever else the times depend on:
 *
 *   [NVIDIA A30, compute 8.0, ...]
 *   2048 cooperative 8448 2389 3807 7136
 *
 * A row has the size class (as bits of a modulus), the kernel, the wave and the
 * three times in microseconds. The numbers are whole, so no locale changes how
 * they are written.
 *
 * A subject that is written in other words is another subject: its rows are not
 * read, and the device is measured. So a file of an older version, whose
 * kernels have other names, is not misread.
 *
 * An empty file is as good as none. Somebody who can write the file can make a
 * device slow and nothing more. It is read only if it is a regular file and no
 * symbolic link, belongs to this user or root, and nobody else can write it.
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
