/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading counters, of this very process: what is looked at is counted and
 * bounded, a block counts once, and neither a name nor a size makes one.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/stat/stats_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/unit/support/emulator.h"

enum {
    MANY = 1000000, /* more than this process has of anything */
    OTHER_USER = 61000,
    LINE_READ = 4096 + 127, /* characters of a line, at once */
};

static warprsa_stats_reader reader;
static warprsa_reading reading;

static void look(uint64_t *allowance)
{
    warprsa_stats_read(&reader, getpid(), allowance, &reading);
}

/* A memory file of this name with counters of this process. */
static int make_file(const char *name, uint64_t created_ns)
{
    warprsa_counters c = {.version = warprsa_counters_version(),
                          .pid = (uint64_t)getpid(),
                          .created_ns = created_ns};
    int fd = memfd_create(name, MFD_CLOEXEC);

    memcpy(c.magic, warprsa_counters_magic, sizeof(c.magic));
    assert_true(fd >= 0);
    assert_int_equal(write(fd, &c, sizeof(c)), sizeof(c));
    return fd;
}

TEST(once_each)
{
    int one = make_file("warprsa-counters", 1);
    int again = dup(one), other = make_file("warprsa-counters", 2);
    int another_name = make_file("warprsa-counter", 3);

    look(NULL);
    assert_int_equal(reading.found, WARPRSA_FOUND);
    assert_int_equal(reading.count, 2);
    assert_int_equal(reading.foreign_count, 0);
    assert_int_equal(reading.owners[0], getuid());
    assert_int_equal(reading.user, getuid());
    close(one);
    close(again);
    close(other);
    close(another_name);
    look(NULL);
    assert_int_equal(reading.found, WARPRSA_NOT_LOADED);
}

TEST(an_allowance)
{
    uint64_t left = MANY, used;
    int fd = make_file("warprsa-counters", 1);

    look(&left);
    assert_int_equal(reading.count, 1);
    assert_false(reading.cut);
    used = MANY - left;
    assert_in_range(used, 4, MANY / 2);
    /* The same once more, and one less. */
    left = used;
    look(&left);
    assert_int_equal(left, 0);
    assert_int_equal(reading.count, 1);
    assert_false(reading.cut);
    left = used - 1;
    look(&left);
    assert_int_equal(left, 0);
    assert_true(reading.cut);
    look(&left);
    assert_true(reading.cut);
    assert_int_equal(reading.count, 0);
    assert_int_equal(reading.found, WARPRSA_NOT_LOOKED_AT);
    close(fd);
}

TEST(no_more_than_room)
{
    int fds[WARPRSA_BLOCKS_MAX + 4];

    for (unsigned i = 0; i < WARPRSA_BLOCKS_MAX + 4; i++)
        fds[i] = make_file("warprsa-counters", i + 1);
    look(NULL);
    assert_int_equal(reading.count, WARPRSA_BLOCKS_MAX);
    for (unsigned i = 0; i < WARPRSA_BLOCKS_MAX + 4; i++)
        close(fds[i]);
}

/* What another user has made does not take the room of this one's, nor does it
 * say that this process has counted. */
TEST(made_by_another_user)
{
    int fds[WARPRSA_BLOCKS_MAX];

    if (geteuid() != 0)
        skip();
    for (unsigned i = 0; i < WARPRSA_BLOCKS_MAX; i++) {
        fds[i] = make_file("warprsa-counters", i + 1);
        assert_int_equal(fchown(fds[i], OTHER_USER, OTHER_USER), 0);
    }
    look(NULL);
    assert_int_equal(reading.found, WARPRSA_NOT_LOADED);
    assert_int_equal(reading.count, WARPRSA_BLOCKS_MAX);
    for (unsigned i = 0; i < WARPRSA_BLOCKS_MAX; i++)
        assert_int_equal(reading.owners[i], OTHER_USER);
    for (unsigned i = 0; i < WARPRSA_BLOCKS_MAX; i++)
        close(fds[i]);
}

/* A file of that name and content that lies somewhere, as in a mount of the
 * user's own, has been made by whoever: not by whom the file belongs to. */
TEST(no_memory_file)
{
    static const char path[] = "/memfd:warprsa-counters.test";
    int memory = make_file("warprsa-counters", 1), file;
    warprsa_counters c;

    assert_int_equal(pread(memory, &c, sizeof(c), 0), sizeof(c));
    close(memory);
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        skip();
    assert_int_equal(write(file, &c, sizeof(c)), sizeof(c));
    look(NULL);
    close(file);
    unlink(path);
    assert_int_equal(reading.count, 0);
    assert_int_equal(reading.found, WARPRSA_NOT_LOADED);
}

/* Where in a line of /proc/self/maps the path begins. */
static size_t path_column(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[1024];
    const char *path = NULL;

    assert_non_null(maps);
    while (path == NULL && fgets(line, sizeof(line), maps) != NULL)
        path = strchr(line, '/');
    fclose(maps);
    assert_non_null(path);
    return (size_t)(path - line);
}

/* Makes folders in one another, and goes there, until the path of the next one
 * begins `length` characters after that of this folder. */
static void go_down(size_t length)
{
    char name[256];

    while (length > 0) {
        size_t part = length > 200 ? 100 : length;

        snprintf(name, sizeof(name), "%0*d", (int)part - 1, 0);
        assert_int_equal(mkdir(name, 0700), 0);
        assert_int_equal(chdir(name), 0);
        length -= part;
    }
}

/* A mapping whose file has a path longer than a line that is read, the rest of
 * which looks like the line of a mapping that is a block. */
TEST(a_line_in_a_line)
{
    static warprsa_counters block;
    char top[] = "/tmp/warprsa.XXXXXX", name[256];
    void *map;
    int fd;

    if (emulator()[0] != '\0')
        skip();
    memcpy(block.magic, warprsa_counters_magic, sizeof(block.magic));
    block.version = warprsa_counters_version();
    block.pid = (uint64_t)getpid();
    snprintf(name, sizeof(name), "%lx-%lx rw-s 0 %x:%x 1 ",
             (unsigned long)&block, (unsigned long)(&block + 1),
             major(reader.memory_files), minor(reader.memory_files));
    assert_non_null(mkdtemp(top));
    assert_int_equal(chdir(top), 0);
    go_down(LINE_READ - path_column() - strlen(top) - 1);
    assert_int_equal(mkdir(name, 0700), 0);
    assert_int_equal(chdir(name), 0);
    fd = open("memfd:warprsa-counters", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    close(fd);
    look(NULL);
    munmap(map, 4096);
    assert_int_equal(chdir("/tmp"), 0);
    snprintf(name, sizeof(name), "rm -rf %s", top);
    assert_int_equal(system(name), 0);
    assert_int_equal(reading.found, WARPRSA_NOT_LOADED);
    assert_int_equal(reading.count, 0);
}

static int open_reader(void **state)
{
    warprsa_stats_open(&reader);
    return 0;
}

static int close_reader(void **state)
{
    warprsa_stats_close(&reader);
    return 0;
}

RUN_TESTS(open_reader, close_reader)
