/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * warprsa-key as it is built, against the daemon's server: what it prints, and
 * how it exits.
 */
#include "tests/unit/support/daemon_support.h"

#include <sys/wait.h>

#include "batching/vault/wire/reference.h"

static test_server s;
static char output[65536]; /* of both streams */

static int begin(void **state)
{
    fake_reset();
    test_server_open(&s, 64, LONG_MS);
    return 0;
}

static int end(void **state)
{
    test_server_close(&s);
    return 0;
}

/* Runs a program of the build. Returns its exit status. */
static int run_program(const char *path, const char *arguments)
{
    char command[1024];
    size_t length = 0;
    FILE *program = NULL;
    int status = 0;

    snprintf(command, sizeof(command), "%s/%s %s", getenv("BUILD_DIR"), path,
             arguments);
    length = strlen(command);
    snprintf(command + length, sizeof(command) - length, " 2>&1");
    program = popen(command, "r");
    assert_non_null(program);
    length = fread(output, 1, sizeof(output) - 1, program);
    output[length] = '\0';
    status = pclose(program);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int run(const char *arguments)
{
    return run_program("batching/key_tool/warprsa-key", arguments);
}

/* Runs a command with the server's socket. */
static int ask(const char *command)
{
    char arguments[256];

    snprintf(arguments, sizeof(arguments), "--socket %s %s", s.path, command);
    return run(arguments);
}

static unsigned lines(void)
{
    unsigned count = 0;

    for (const char *at = output; (at = strchr(at, '\n')) != NULL; at++)
        count++;
    return count;
}

TEST_IN(lists_keys, begin, end)
{
    assert_int_equal(ask("list"), 0);
    assert_int_equal(lines(), 1 + FAKE_VAULT_KEYS);
    assert_int_equal(strncmp(output, "KEY ", 4), 0);
    assert_non_null(strstr(output, "\nkey07 "));
    fake_vault.unknown_before = FAKE_VAULT_KEYS - 1;
    assert_int_equal(ask("list"), 0);
    assert_int_equal(lines(), 2);
    fake_vault.unknown_before = FAKE_VAULT_KEYS;
    assert_int_equal(ask("list"), 1);
    assert_non_null(strstr(output, "no key that this user may use"));
}

/* A list may take as long as it likes, as where it is read by a pager: here a
 * second passes each time that the program looks at its clock. */
TEST_IN(lists_keys_slowly, begin, end)
{
    char arguments[256];

    snprintf(arguments, sizeof(arguments), "--socket %s list", s.path);
    assert_int_equal(
        run_program("tests/unit/daemon/warprsa-key-fast-clock", arguments), 0);
    assert_int_equal(lines(), 1 + FAKE_VAULT_KEYS);
}

/* The fake vault has no public keys that libcrypto knows. */
TEST_IN(shows_a_key, begin, end)
{
    assert_int_equal(ask("show key07"), 1);
    assert_non_null(strstr(output, "key: key07\n"));
    assert_non_null(strstr(output, "spki-sha256: "));
    assert_int_equal(ask("show key7"), 1);
    assert_non_null(strstr(output, "has no key key7"));
}

TEST_IN(writes_references, begin, end)
{
    warprsa_reference reference;

    assert_int_equal(ask("reference key07"), 0);
    assert_null(warprsa_reference_read_pem(&reference, output, strlen(output)));
    assert_string_equal(reference.name, "key07");
    assert_string_equal(reference.socket, s.path);
    assert_int_equal(ask("reference key7"), 1);
}

/* References hold paths that a line of a log can show: here the path is at
 * fault, and not the key. */
TEST_IN(reference_with_an_odd_path, begin, end)
{
    char path[100], arguments[200];

    snprintf(path, sizeof(path), "%s/\xc3\xa4", s.directory);
    assert_int_equal(symlink(s.path, path), 0);
    snprintf(arguments, sizeof(arguments), "--socket %s show key07", path);
    assert_int_equal(run(arguments), 1);
    assert_non_null(strstr(output, "key: key07\n"));
    snprintf(arguments, sizeof(arguments), "--socket %s reference key07", path);
    assert_int_equal(run(arguments), 1);
    assert_string_equal(output, "warprsa-key: a reference can name no socket "
                                "whose path has characters other than "
                                "printable ASCII\n");
    assert_int_equal(unlink(path), 0);
}

TEST_IN(nobody_listens, begin, end)
{
    test_server_stop(&s);
    assert_int_equal(ask("list"), 1);
    assert_non_null(strstr(output, s.path));
    test_server_start(&s);
}

TEST(wrong_command_lines)
{
    assert_int_equal(run(""), 2);
    assert_int_equal(run("lists"), 2);
    assert_int_equal(run("list key07"), 2);
    assert_int_equal(run("show"), 2);
    assert_int_equal(run("reference key07 key08"), 2);
    assert_int_equal(run("reference ../key07"), 2);
    assert_int_equal(run("--socket relative list"), 2);
    assert_int_equal(run("--sockets list"), 2);
    assert_int_equal(run("--help"), 0);
    assert_int_equal(strncmp(output, "Usage: ", 7), 0);
    assert_int_equal(run("--version"), 0);
}

RUN_TESTS(NULL, NULL)
