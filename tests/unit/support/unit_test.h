/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * cmocka, with the headers that it needs before it.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_UNIT_TEST_H
#define WARPRSA_TESTS_UNIT_SUPPORT_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
