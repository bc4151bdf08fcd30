/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Under which sanitizer a test was compiled, by gcc or by clang: UNDER_ASAN,
 * UNDER_TSAN.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_SANITIZERS_H
#define WARPRSA_TESTS_UNIT_SUPPORT_SANITIZERS_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define UNDER_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define UNDER_TSAN 1
#endif

#endif
