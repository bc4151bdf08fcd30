/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads the RSA vector files of the package python3-cryptography-vectors:
 * NIST's "name = value" lines and RSA Laboratories' "# Name:" with lines of
 * hexadecimal bytes below.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_VECTOR_FILE_H
#define WARPRSA_TESTS_UNIT_SUPPORT_VECTOR_FILE_H

/* Is called with each field in the order of the file; `value` has no spaces. */
typedef void vector_field_fn(void *arg, const char *name, const char *value);

/* Where the files are; NULL if they are not installed. */
const char *vector_directory(void);

/* Calls `field` for every field of a file in that directory. Returns 1, or 0 if
 * the file can't be read. */
int vector_file_read(const char *name, vector_field_fn *field, void *arg);

#endif
