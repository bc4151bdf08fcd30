/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The calibration file, which keeps what calibration.h has measured. It is a
 * text. The first line says what the file is. Then each subject has a line in
 * brackets, followed by its rows. A subject names the device and everything
 * else that the times depend on:
 *
 * [NVIDIA A30, compute 8.0, ...] 2048 cooperative 8448 2389 3807 7136
 *
 * A row has the size class (as bits of a modulus), the kernel, the wave and the
 * three times in microseconds. The numbers are whole, so no locale changes how
 * they are written.
 *
 * Subjects are compared as text. If the text differs, the rows are not read,
 * and the device is measured. So a file of an older version, whose kernels have
 * other names, is not misread.
 *
 * An empty file counts as no file. Whoever can write the file can make a device
 * slow and nothing more. It is read only if it is a regular file and not a
 * symbolic link, belongs to this user or root, and nobody else can write it.
 */
#ifndef WARPRSA_GPU_SELECT_CALIBRATION_FILE_H
#define WARPRSA_GPU_SELECT_CALIBRATION_FILE_H

#include "gpu/select/selection.h"

typedef enum warprsa_calibration_found {
    WARPRSA_CALIBRATION_FOUND,
    WARPRSA_CALIBRATION_NONE, /* no file, or no row of this subject in it */
    WARPRSA_CALIBRATION_BAD,  /* the file is not used; `why` has the reason */
} warprsa_calibration_found;

/* Reads the timings of `subject`, one line of at most SUBJECT_MAX bytes without
 * brackets. They are used only if they fit the candidates
 * (warprsa_kernel_timings_fit()); otherwise the count is 0. The text in `why`,
 * of at most why_size bytes, names the file. Any thread. */
enum {
    WARPRSA_CALIBRATION_SUBJECT_MAX = 200,
};
warprsa_calibration_found
warprsa_calibration_read(const char *path, const char *subject,
                         const warprsa_kernel_timings *candidates,
                         size_t batch_max, warprsa_kernel_timings *timings,
                         char *why, size_t why_size);

/*
 * Writes the timings into the file. A new file of mode 0600 replaces the old
 * one atomically, so a reader sees one or the other. The rows of other devices
 * are kept from the old file. A subject is of another device if it differs
 * before its first comma.
 *
 * False: `why` has the reason and the old file is unchanged. For example, the
 * directory cannot be written, or what is there is not a calibration file.
 */
bool warprsa_calibration_write(const char *path, const char *subject,
                               const warprsa_kernel_timings *timings, char *why,
                               size_t why_size);

#endif
