/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels, one line each. All else of a kernel is in its folder,
 * gpu/kernels/NAME/. The first takes every batch that no other is chosen for.
 * Calibration measures them in this order, and of equally fast kernels the
 * first is chosen.
 *
 * Includers define WARPRSA_KERNEL(). Meson reads this file, too.
 */
WARPRSA_KERNEL(cooperative)
WARPRSA_KERNEL(thread)
WARPRSA_KERNEL(low_latency)
WARPRSA_KERNEL(int32)
WARPRSA_KERNEL(fold)
WARPRSA_KERNEL(narrow_fold)
WARPRSA_KERNEL(int32_fold)
