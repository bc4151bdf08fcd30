/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Computes the columns of kernel_rate's table from measured times and prints
 * them, for a reader and as comma-separated values.
 */
#include "bench/programs/rate_row.h"

#include "bench/programs/bench.h"

const char rate_csv_header[] =
    "device,kernel,keys,table_reads,bits,batch,"
    "kernel_ms,kernel_ms_least,kernel_ms_most,"
    "whole_ms,whole_ms_least,whole_ms_most,"
    "operations_per_s,operations_per_s_whole,modexps_per_s,"
    "clocks_per_product,fp64_share,ratio,ratio_same_batch,"
    "registers,local_bytes,shared_bytes,block,blocks,warps_per_sm,kernels,"
    "clock_mhz,checked\n";

/* Double precision operations that an SM completes per clock (CUDA C++
 * Programming Guide, "Arithmetic Instructions"). */
static int fp64_lanes_of(int major, int minor)
{
    if (minor == 0 && major == 8)
        return 32;
    if (minor == 0 && (major == 9 || major == 10))
        return 64;
    return 2;
}

void rate_machine_describe(rate_machine *m)
{
    struct cudaDeviceProp p;

    bench_cuda(cudaGetDeviceProperties(&p, 0), "the device");
    snprintf(m->name, sizeof(m->name), "%s", p.name);
    m->sms = p.multiProcessorCount;
    m->fp64_lanes = fp64_lanes_of(p.major, p.minor);
}

double rate_of(const rate_row *r)
{
    return 1e3 * (double)r->batch / r->kernel_ms.median;
}

/* Products that the paper's algorithm takes for one exponentiation: into
 * Montgomery form and out, the table, and PAPER_WINDOW squarings and one
 * multiplication for each digit but the first. Clocks per product are the time
 * over this count for every kernel, whatever its window, and include the time
 * of an operation's other parts. */
static double products_of(const paper_shape *shape)
{
    int digits = (shape->bits + PAPER_WINDOW - 1) / PAPER_WINDOW;

    return 3 + (PAPER_ENTRIES - 2) + (digits - 1) * (PAPER_WINDOW + 1);
}

/* Clocks of an SM for a Montgomery product of `samples` samples if only its
 * double precision instructions took time: 2 samples^2 products of two samples,
 * each of 2 DFMA and 1 DADD. (A squaring can do with fewer.) */
static double bound_of(const rate_size *s)
{
    return 6.0 * s->shape->samples * s->shape->samples / s->machine->fp64_lanes;
}

static double clocks_per_product(const rate_size *s, const rate_row *r)
{
    double products = 2 * (double)r->batch * products_of(s->shape);

    return s->machine->sms * r->clock * 1e-3 * r->kernel_ms.median / products;
}

void rate_head_print(void)
{
    printf("%5s %-12s %4s %-6s %6s %9s (least-most) %9s %9s %9s %6s %6s %7s "
           "%5s %4s %5s %3s %4s\n",
           "bits", "kernel", "keys", "reads", "batch", "kernel ms", "whole ms",
           "op/s", "modexp/s", "ratio", "same", "clk/prd", "fp64", "regs",
           "local", "wrp", "good");
}

void rate_row_print(const rate_size *s, const rate_row *r)
{
    double rate = rate_of(r), clocks = clocks_per_product(s, r);

    printf("%5d %-12s %4zu %-6s %6zu %9.3f (%.3f-%.3f) ", 2 * s->shape->bits,
           r->name, r->keys, r->direct ? "direct" : "scan", r->batch,
           r->kernel_ms.median, r->kernel_ms.least, r->kernel_ms.most);
    if (r->whole_ms.median > 0)
        printf("%9.3f ", r->whole_ms.median);
    else
        printf("%9s ", "-");
    printf("%9.0f %9.0f %6.2f ", rate, 2 * rate, rate / s->baseline.median);
    if (r->paper_ms > 0)
        printf("%6.2f ", r->paper_ms / r->kernel_ms.median);
    else
        printf("%6s ", "-");
    printf("%7.1f %4.0f%% %4d %5zu %3d %4zu\n", clocks,
           100 * bound_of(s) / clocks, r->main.registers, r->main.spilled,
           r->main.warps, r->checked);
}

void rate_row_write(FILE *csv, const rate_size *s, const rate_row *r)
{
    double rate = rate_of(r), clocks = clocks_per_product(s, r);

    fprintf(csv, "\"%s\",\"%s\",%zu,%s,%d,%zu,%.4f,%.4f,%.4f,",
            s->machine->name, r->name, r->keys, r->direct ? "direct" : "scan",
            2 * s->shape->bits, r->batch, r->kernel_ms.median,
            r->kernel_ms.least, r->kernel_ms.most);
    if (r->whole_ms.median > 0)
        fprintf(csv, "%.4f,%.4f,%.4f,%.0f,%.0f,", r->whole_ms.median,
                r->whole_ms.least, r->whole_ms.most, rate,
                1e3 * (double)r->batch / r->whole_ms.median);
    else
        fprintf(csv, ",,,%.0f,,", rate);
    fprintf(csv, "%.0f,%.2f,%.4f,%.4f,", 2 * rate, clocks, bound_of(s) / clocks,
            rate / s->baseline.median);
    if (r->paper_ms > 0)
        fprintf(csv, "%.4f", r->paper_ms / r->kernel_ms.median);
    fprintf(csv, ",%d,%zu,%zu,%u,%u,%d,%zu,%.0f,%zu\n", r->main.registers,
            r->main.spilled, r->main.shared, r->main.threads, r->main.blocks,
            r->main.warps, r->kernels, 1e-6 * r->clock, r->checked);
}
