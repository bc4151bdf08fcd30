/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The server of the fuzzers, and its honest client; see fuzz_daemon.h.
 */
#include "tests/fuzz/fuzz_daemon.h"

#include <dirent.h>

enum {
    HONEST_KEY = 99,
    CONNECTIONS = 200,      /* control connections */
    CHECK_DESCRIPTORS = 64, /* inputs between two counts of descriptors */
};

static test_server server;
static test_client honest;
static warprsa_backend_key *honest_key;
static unsigned descriptors; /* with the honest client alone */

/* All but pipes: libFuzzer's own, to its symbolizer. */
static unsigned count_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    const struct dirent *entry;
    unsigned count = 0;

    assert_non_null(directory);
    while ((entry = readdir(directory)) != NULL) {
        char link[16] = "";

        (void)readlinkat(dirfd(directory), entry->d_name, link,
                         sizeof(link) - 1);
        count += link[0] != '\0' && strncmp(link, "pipe:", 5) != 0;
    }
    closedir(directory);
    return count;
}

static void remove_directory(void)
{
    unlink(server.path);
    rmdir(server.directory);
}

const test_server *fuzz_daemon(void)
{
    warprsa_server_limits limits;

    if (honest_key != NULL)
        return &server;
    fake_reset();
    test_server_open(&server, FUZZ_SLOTS, LONG_MS);
    /* Those of earlier inputs are closed in the background. */
    limits = server.config.limits;
    limits.control_connections = limits.user_control_connections = CONNECTIONS;
    warprsa_server_set_limits(server.server, &limits);
    atexit(remove_directory);
    test_client_open(&honest, &server, LONG_MS);
    WAIT_UNTIL(test_client_is_ready(&honest));
    honest_key = test_client_key(&honest, WARPRSA_CLASS_2048, HONEST_KEY);
    fuzz_honest_operation();
    descriptors = count_descriptors();
    return &server;
}

/* False: refused. That is no finding on a busy machine: the client leaves a
 * daemon to itself that does not get to run for some time. */
static bool honest_operation(void)
{
    static unsigned seed;
    fake_request request;

    test_client_fill(&request, WARPRSA_CLASS_2048, HONEST_KEY, ++seed);
    if (test_client_submit(&honest, honest_key, &request, 0) != WARPRSA_DONE ||
        test_client_wait(&honest, &request) != WARPRSA_DONE) {
        (void)test_client_is_ready(&honest); /* connects again if need be */
        return false;
    }
    assert_true(fake_is_right(&request));
    return true;
}

void fuzz_honest_operation(void)
{
    WAIT_UNTIL(honest_operation());
}

static bool is_alone(void)
{
    return warprsa_server_clients(server.server) == 1 &&
           server.queue_config.counters->keys == 1 &&
           fake_vault_references() == 0;
}

void fuzz_daemon_check(void)
{
    static unsigned inputs;

    FUZZ_LET(is_alone());
    /* Also if the honest client has to connect again. */
    WAIT_UNTIL(honest_operation() && is_alone());
    /* Descriptors are closed by other threads, soon. */
    if (++inputs % CHECK_DESCRIPTORS == 0)
        WAIT_UNTIL(count_descriptors() == descriptors);
    if (fake.broken != NULL)
        fail_msg("the queue broke a rule of gpu/engine.h: %s", fake.broken);
}
