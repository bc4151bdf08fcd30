/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The timings of a device that is not in the table: what is measured, within
 * which time, and the file that keeps it. The device is a function here.
 */
#include "tests/unit/support/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/select/calibration_file.h"
#include "gpu/select/timing_source.h"

enum {
    BATCH_MAX = 8192,
};

static const char subject[] = "NVIDIA Test 1, compute 8.0, warprsa 1";
static const char title[] = "# warprsa: what batches took on a device, in "
                            "microseconds. May be removed.\n";

static const warprsa_kernel few = {.name = "few"}, many = {.name = "many"},
                            none = {.name = "none"}, dear = {.name = "dear"};

/* A device with four kernels. "few" takes longer with each wave of 1000 and by
 * class. "many" takes some 20 ms for any batch. "none" cannot run. "dear" never
 * pays off. */
typedef struct fake_device {
    unsigned batches;
    size_t most; /* operations in one batch */
    double slower, all_ms;
} fake_device;

static bool run(void *arg, warprsa_size_class size,
                const warprsa_kernel *kernel, size_t count, double *ms)
{
    fake_device *d = arg;

    d->batches++;
    d->most = count > d->most ? count : d->most;
    if (kernel == &few)
        *ms = (size + 1) * (2 + (double)count / 100);
    else if (kernel == &many)
        *ms = 20 + (double)count / 1e5;
    else
        *ms = 5000;
    *ms *= d->slower;
    if (kernel == &none)
        return false;
    d->all_ms += *ms;
    return true;
}

static void add(warprsa_kernel_timings *to, const warprsa_kernel *kernel,
                uint32_t wave)
{
    for (int size = 0; size < WARPRSA_CLASS_LARGE; size++)
        to->row[to->count++] = (warprsa_kernel_timing){
            .size = (warprsa_size_class)size, .kernel = kernel, .wave = wave};
}

static warprsa_kernel_timings candidates_all(void)
{
    warprsa_kernel_timings candidates = {0};

    add(&candidates, &few, 1000);
    add(&candidates, &none, 500);
    add(&candidates, &many, 20000);
    return candidates;
}

TEST(measures)
{
    const warprsa_kernel_timings candidates = candidates_all();
    fake_device device = {.slower = 1};
    warprsa_kernel_timings timings;
    const warprsa_kernel_timing *timing;

    assert_true(
        warprsa_calibrate(&timings, &candidates, BATCH_MAX, run, &device));
    assert_true(warprsa_kernel_timings_fit(&timings, &candidates, BATCH_MAX));
    assert_int_equal(device.most, BATCH_MAX);
    assert_int_equal(timings.count, 2 * WARPRSA_CLASS_LARGE);
    timing = warprsa_kernel_timing_of(&timings, WARPRSA_CLASS_2048, &few);
    assert_non_null(timing);
    assert_int_equal(timing->one_us, 4020);
    assert_int_equal(timing->half_us, 14000);
    assert_int_equal(timing->wave_us, 24000);
    timing = warprsa_kernel_timing_of(&timings, WARPRSA_CLASS_2048, &many);
    assert_non_null(timing);
    assert_int_equal(timing->wave, BATCH_MAX);
    assert_null(warprsa_kernel_timing_of(&timings, WARPRSA_CLASS_2048, &none));
    assert_ptr_equal(&few,
                     warprsa_fastest_kernel(&timings, WARPRSA_CLASS_2048, 700));
    assert_ptr_equal(&many,
                     warprsa_fastest_kernel(&timings, WARPRSA_CLASS_2048, 900));
}

/* A kernel that could never be chosen is run with one operation and no more. */
TEST(leaves_out_the_hopeless)
{
    warprsa_kernel_timings candidates = {0}, timings;
    fake_device device = {.slower = 0.01}, both = {.slower = 0.01};
    double first_ms;

    add(&candidates, &few, 1000);
    assert_true(
        warprsa_calibrate(&timings, &candidates, BATCH_MAX, run, &device));
    first_ms = device.all_ms;
    add(&candidates, &dear, 1000);
    assert_true(
        warprsa_calibrate(&timings, &candidates, BATCH_MAX, run, &both));
    assert_int_equal(timings.count, WARPRSA_CLASS_LARGE);
    assert_int_equal(both.batches - device.batches, 4 * WARPRSA_CLASS_LARGE);
    assert_true(both.all_ms > first_ms);
    assert_true(warprsa_kernel_timings_fit(&timings, &candidates, BATCH_MAX));
}

/* One that takes longer for one operation than another for a whole batch may
 * pay off where several batches are under way. */
TEST(measures_for_several_batches)
{
    const warprsa_kernel_timings candidates = candidates_all();
    fake_device device = {.slower = 1};
    warprsa_kernel_timings timings;

    assert_true(warprsa_calibrate(&timings, &candidates, 1000, run, &device));
    assert_ptr_equal(warprsa_fastest_kernel(&timings, WARPRSA_CLASS_1024, 1000),
                     &few);
    assert_non_null(
        warprsa_kernel_timing_of(&timings, WARPRSA_CLASS_1024, &many));
}

TEST(ends_in_time)
{
    const warprsa_kernel_timings candidates = candidates_all();
    warprsa_kernel_timings timings;

    for (double slower = 1; slower < 1e5; slower *= 3) {
        fake_device device = {.slower = slower};
        const bool done =
            warprsa_calibrate(&timings, &candidates, 1000, run, &device);

        /* The last batch began before the time was used up, and takes at most
         * 48 times "slower". */
        assert_true(device.all_ms < WARPRSA_CALIBRATION_MS + 48 * slower);
        assert_true(done == (slower < 4));
    }
    assert_int_equal(timings.count, 0);
}

/* Each test has its own directory. */
static char directory[32], path[64];

static int make_directory(void **state)
{
    strcpy(directory, "/tmp/warprsa-calibration.XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/timings", directory);
    return 0;
}

static int remove_directory(void **state)
{
    if (unlink(path) != 0 && errno != ENOENT)
        return -1;
    return rmdir(directory); /* fails if another file is left */
}

static void put_text(const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static void assert_text(const char *wanted)
{
    char text[2048] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, wanted);
}

static warprsa_calibration_found read_path(const char *of, char why[400])
{
    const warprsa_kernel_timings candidates = candidates_all();
    warprsa_kernel_timings timings;

    why[0] = '\0';
    return warprsa_calibration_read(path, of, &candidates, BATCH_MAX, &timings,
                                    why, 400);
}

static void assert_bad(const char *text, const char *what)
{
    char why[400], wanted[400];

    put_text(text);
    snprintf(wanted, sizeof(wanted), "%s:%s", path, what);
    assert_int_equal(read_path(subject, why), WARPRSA_CALIBRATION_BAD);
    assert_string_equal(why, wanted);
}

static warprsa_kernel_timings measured(void)
{
    const warprsa_kernel_timings candidates = candidates_all();
    fake_device device = {.slower = 1};
    warprsa_kernel_timings timings;

    assert_true(
        warprsa_calibrate(&timings, &candidates, BATCH_MAX, run, &device));
    return timings;
}

TEST_IN(write_and_read, make_directory, remove_directory)
{
    const warprsa_kernel_timings timings = measured(),
                                 candidates = candidates_all();
    warprsa_kernel_timings again;
    struct stat status;
    char why[400] = "";

    assert_int_equal(read_path(subject, why), WARPRSA_CALIBRATION_NONE);
    assert_true(
        warprsa_calibration_write(path, subject, &timings, why, sizeof(why)));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(warprsa_calibration_read(path, subject, &candidates,
                                              BATCH_MAX, &again, why,
                                              sizeof(why)),
                     WARPRSA_CALIBRATION_FOUND);
    assert_int_equal(again.count, timings.count);
    for (size_t i = 0; i < timings.count; i++) {
        const warprsa_kernel_timing *a = &timings.row[i], *b = &again.row[i];

        assert_ptr_equal(a->kernel, b->kernel);
        assert_true(a->size == b->size && a->wave == b->wave &&
                    a->one_us == b->one_us && a->half_us == b->half_us &&
                    a->wave_us == b->wave_us);
    }
    /* Another driver or another module: the device is measured again. */
    assert_int_equal(read_path("NVIDIA Test 1, compute 8.0, warprsa 2", why),
                     WARPRSA_CALIBRATION_NONE);
    assert_int_equal(read_path("NVIDIA Test", why), WARPRSA_CALIBRATION_NONE);
}

/* A file serves several devices. A device's old rows are removed. */
TEST_IN(several_devices, make_directory, remove_directory)
{
    const warprsa_kernel_timings one = {
        1, {{WARPRSA_CLASS_2048, &few, 1000, 1, 2, 3}}};
    char why[400], wanted[512];

    put_text(title);
    assert_true(warprsa_calibration_write(path, "A, 1", &one, why, 400));
    assert_true(warprsa_calibration_write(path, "B, 1", &one, why, 400));
    assert_true(warprsa_calibration_write(path, "A, 2", &one, why, 400));
    snprintf(wanted, sizeof(wanted),
             "%s[A, 2]\n2048 few 1000 1 2 3\n[B, 1]\n2048 few 1000 1 2 3\n",
             title);
    assert_text(wanted);
}

TEST_IN(damaged_files, make_directory, remove_directory)
{
    static const char *const rows[] = {
        "2048 few 1000 1 2",
        "2048 few 1000 1 2 3 4",
        "2048 few 1000 1 2 ",
        "2048  few 1000 1 2",
        "2048 few 1000 1 -2 3",
        "2048 few 1000 1 2 3.5",
        "2048 few 1000 1 0x2 3",
        "2048 few 1000 1 nan 3",
        "2048 few 1000 1 2 9999999999",
        "2047 few 1000 1 2 3",
        "0 few 1000 1 2 3",
        "5120 few 1000 1 2 3",
        "2048 fewer 1000 1 2 3",
        "nonsense",
        "",
        "2048 few 1000 1 2 3\n2048 few 1000 1 2 3",
    };
    char text[512], line[32];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(text, sizeof(text), "%s[%s]\n%s\n", title, subject, rows[i]);
        snprintf(line, sizeof(line), "%d: damaged",
                 strchr(rows[i], '\n') != NULL ? 4 : 3);
        assert_bad(text, line);
    }
    /* Rows that can be parsed and have impossible numbers. */
    snprintf(text, sizeof(text), "%s[%s]\n2048 few 1000 3 2 1\n", title,
             subject);
    assert_bad(text, " times that cannot be");
    /* The file is cut off. */
    snprintf(text, sizeof(text), "%s[%s]\n2048 few 1000 1 2 3", title, subject);
    assert_bad(text, "3: damaged");
    /* The whole file is then replaced. */
    {
        const warprsa_kernel_timings timings = measured();
        char why[400];

        assert_true(
            warprsa_calibration_write(path, subject, &timings, why, 400));
        assert_int_equal(read_path(subject, why), WARPRSA_CALIBRATION_FOUND);
    }
}

/* A file that is not a calibration file is neither read nor replaced. */
TEST_IN(foreign_files, make_directory, remove_directory)
{
    const warprsa_kernel_timings timings = measured();
    char why[400], wanted[160], *large;
    struct stat status;

    assert_bad("root:x:0:0:root:/root:/bin/bash\n", " not a calibration file");
    assert_false(warprsa_calibration_write(path, subject, &timings, why, 400));
    assert_text("root:x:0:0:root:/root:/bin/bash\n");
    large = calloc(1, 100000);
    assert_non_null(large);
    memset(large, '#', 99999);
    assert_bad(large, " too long");
    free(large);
    put_text(title);
    assert_int_equal(chmod(path, 0620), 0);
    snprintf(wanted, sizeof(wanted),
             "%s: can be written by others than its owner", path);
    assert_int_equal(read_path(subject, why), WARPRSA_CALIBRATION_BAD);
    assert_string_equal(why, wanted);
    assert_false(warprsa_calibration_write(path, subject, &timings, why, 400));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(read_path(subject, why), WARPRSA_CALIBRATION_BAD);
    assert_false(warprsa_calibration_write(path, subject, &timings, why, 400));
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(wanted, sizeof(wanted), "%s: not a regular file", path);
    assert_int_equal(read_path(subject, why), WARPRSA_CALIBRATION_BAD);
    assert_string_equal(why, wanted);
}

/* Where nothing can be written, no half-written file is left. */
TEST_IN(directory_that_cannot_be_written, make_directory, remove_directory)
{
    const warprsa_kernel_timings timings = measured();
    char why[400] = "", there[64];

    strcpy(there, path);
    snprintf(path, sizeof(path), "%s/there/is/no", directory);
    assert_false(warprsa_calibration_write(path, subject, &timings, why, 400));
    assert_non_null(strstr(why, "No such file or directory"));
    strcpy(path, there);
    if (geteuid() == 0) /* root can write everywhere */
        return;
    assert_int_equal(chmod(directory, 0500), 0);
    assert_false(warprsa_calibration_write(path, subject, &timings, why, 400));
    assert_non_null(strstr(why, "Permission denied"));
    assert_int_equal(chmod(directory, 0700), 0);
}

TEST_IN(place_taken_by_a_directory, make_directory, remove_directory)
{
    const warprsa_kernel_timings timings = measured();
    char why[400] = "";

    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(read_path(subject, why), WARPRSA_CALIBRATION_BAD);
    assert_non_null(strstr(why, "not a regular file"));
    assert_false(warprsa_calibration_write(path, subject, &timings, why, 400));
    assert_int_equal(rmdir(path), 0);
}

typedef struct lines {
    char text[2048];
} lines;

static void note(void *arg, int level, const char *line)
{
    lines *l = arg;
    const size_t length = strlen(l->text);

    assert_int_equal(level, 1);
    snprintf(l->text + length, sizeof(l->text) - length, "%s\n", line);
}

TEST_IN(table_then_file_then_calibration, make_directory, remove_directory)
{
    const warprsa_kernel_timings candidates = candidates_all();
    fake_device device = {.slower = 1};
    lines traced = {""};
    warprsa_kernel_timings timings, h200;
    warprsa_timing_source wanted = {.model = "NVIDIA Test 1",
                                    .subject = subject,
                                    .candidates = &candidates,
                                    .batch_max = BATCH_MAX,
                                    .run = run,
                                    .run_arg = &device,
                                    .trace = note,
                                    .trace_arg = &traced};
    char line[200];

    /* Without a file name it is measured each time, and no file is created. */
    assert_string_equal("calibration",
                        warprsa_timing_source_choose(&timings, &wanted));
    assert_string_equal(
        traced.text,
        "NVIDIA Test 1: calibrated: its kernel timings are not known\n");
    assert_int_equal(access(path, F_OK), -1);
    /* It is measured once, then read from the file. */
    wanted.file = path;
    assert_string_equal("calibration",
                        warprsa_timing_source_choose(&timings, &wanted));
    device.batches = 0;
    traced.text[0] = '\0';
    assert_string_equal("file",
                        warprsa_timing_source_choose(&timings, &wanted));
    assert_int_equal(timings.count, 2 * WARPRSA_CLASS_LARGE);
    assert_int_equal(device.batches, 0);
    assert_string_equal(traced.text, "");
    /* A file that is not a calibration file is reported and does not prevent
     * the calibration. */
    put_text("something else\n");
    assert_string_equal("calibration",
                        warprsa_timing_source_choose(&timings, &wanted));
    assert_int_equal(timings.count, 2 * WARPRSA_CLASS_LARGE);
    snprintf(line, sizeof(line),
             "calibration file not used: %s: not a calibration file\n", path);
    assert_non_null(strstr(traced.text, line));
    snprintf(line, sizeof(line),
             "calibration file not written: %s: not a calibration file\n",
             path);
    assert_non_null(strstr(traced.text, line));
    assert_text("something else\n");
    /* A known name, where the table's rows do not fit the candidates. */
    device.batches = 0;
    wanted.model = "NVIDIA H200";
    wanted.trace = NULL;
    assert_string_equal("calibration",
                        warprsa_timing_source_choose(&timings, &wanted));
    assert_true(device.batches > 0);
    assert_true(warprsa_kernel_timings_known("NVIDIA H200", &h200));
    device.batches = 0;
    wanted.candidates = &h200;
    assert_string_equal("table",
                        warprsa_timing_source_choose(&timings, &wanted));
    assert_int_equal(device.batches, 0);
}

RUN_TESTS(NULL, NULL)
