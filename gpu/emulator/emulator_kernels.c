/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernels that the host engine has in tests and benchmarks: each that has a
 * twin on the CPU, and "ifma", the arithmetic of that engine in plain C. By
 * default, and under every other name, it computes as "cooperative" does.
 */
#include <string.h>

#include "gpu/kernels/host_arithmetic.h"

/* Meson defines WARPRSA_EACH_TWIN(X): X(NAME) for each. */
#define DECLARE(name) extern const warprsa_host_arithmetic warprsa_host_##name;
WARPRSA_EACH_TWIN(DECLARE)

const warprsa_host_arithmetic *warprsa_host_arithmetic_of(const char *kernel)
{
#define ROW(name) {#name, &warprsa_host_##name},
    static const struct {
        const char *name;
        const warprsa_host_arithmetic *arithmetic;
    } known[] = {WARPRSA_EACH_TWIN(ROW) ROW(ifma)};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (kernel != NULL && strcmp(kernel, known[i].name) == 0)
            return known[i].arithmetic;
    return &warprsa_host_cooperative;
}
