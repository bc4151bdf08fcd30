/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clients that break every rule of the protocol: they are disconnected or
 * refused, and no other client notices.
 */
#include "tests/unit/support/daemon_support.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "batching/base/clock.h"

enum {
    SCRIBBLES = 200,
    /* More bytes than a socket holds that is not read. */
    NOTIFICATIONS_UNREAD = 2000,
};

#define OFFER_NS (UINT64_C(5) * WARPRSA_NS_PER_SEC)

static test_server s;
static test_client good; /* an honest client, served after each attack */
static warprsa_backend_key *good_key;

static int setup(void **state)
{
    fake_reset();
    test_server_open(&s, 16, LONG_MS);
    test_client_open(&good, &s, LONG_MS);
    WAIT_UNTIL(test_client_is_ready(&good));
    good_key = test_client_key(&good, WARPRSA_CLASS_2048, 99);
    return 0;
}

static int teardown(void **state)
{
    test_client_operate(&good, good_key, WARPRSA_CLASS_2048, 99, 1);
    assert_int_equal(good.counters->cpu_reason[WARPRSA_CPU_NO_DEVICE], 0);
    backend->key_release(good_key);
    test_client_close(&good);
    test_server_close(&s);
    return 0;
}

/* A connection that has one key, under number 3 and generation 5. */
static void enter(raw_client *x)
{
    WAIT_UNTIL(raw_client_connect(x, s.path, 16));
    raw_client_attach(x);
    raw_client_key(x, 3, 5, 1);
}

static void is_disconnected_for_it(raw_client *x, unsigned broken_before)
{
    raw_client_is_disconnected(x);
    raw_client_leave(x);
    WAIT_UNTIL(test_server_broken(&s) > broken_before);
}

/* What a client may not send over its control connection: types, and bytes. */
TEST_IN(on_the_control_connection, setup, teardown)
{
    static const warprsa_message bad[] = {
        {.version = WARPRSA_PROTOCOL, .type = 0},
        {.version = WARPRSA_PROTOCOL, .type = WARPRSA_MESSAGE_WELCOME},
        {.version = WARPRSA_PROTOCOL, .type = WARPRSA_MESSAGE_REFUSED},
        {.version = WARPRSA_PROTOCOL, .type = WARPRSA_MESSAGE_NOTIFIER},
        {.version = WARPRSA_PROTOCOL, .type = 77},
        {.version = WARPRSA_PROTOCOL, .type = UINT32_MAX},
        {.version = WARPRSA_PROTOCOL, .type = WARPRSA_MESSAGE_ATTACHED},
        {.version = WARPRSA_PROTOCOL,
         .type = WARPRSA_MESSAGE_ATTACHED,
         .number = 1},
    };

    for (unsigned i = 0; i < 2 * sizeof(bad) / sizeof(bad[0]); i++) {
        char bytes[sizeof(bad[0]) + 1] = {0};
        warprsa_control_connection control_connection;
        size_t size = sizeof(bad[0]);
        unsigned broken = test_server_broken(&s);
        char why[256];

        memcpy(bytes, &bad[i / 2], size);
        /* Each once of another size, too long or too short. */
        if (i % 2 == 1)
            size = i % 4 == 1 ? size + 1 : size - 1;
        assert_true(warprsa_control_connection_open(&control_connection, s.path,
                                                    why, sizeof(why)));
        assert_int_equal(send(control_connection.socket.fd, bytes, size, 0),
                         size);
        assert_true(becomes_readable(control_connection.socket.fd));
        WAIT_UNTIL(test_server_broken(&s) > broken);
        warprsa_control_connection_close(&control_connection);
    }
}

/* Both sides say which versions they are of. */
TEST_IN(another_version, setup, teardown)
{
    const warprsa_message theirs = {.version = WARPRSA_PROTOCOL + 1,
                                    .type = WARPRSA_MESSAGE_CONNECT};
    warprsa_control_connection control_connection;
    warprsa_message message;
    int fds[WARPRSA_MESSAGE_FDS];
    char why[256], both[128];

    snprintf(both, sizeof(both),
             "its module speaks version %d of the protocol, and this warprsad "
             "version %d",
             WARPRSA_PROTOCOL + 1, WARPRSA_PROTOCOL);
    assert_true(warprsa_control_connection_open(&control_connection, s.path,
                                                why, sizeof(why)));
    assert_int_equal(
        send(control_connection.socket.fd, &theirs, sizeof(theirs), 0),
        sizeof(theirs));
    assert_true(becomes_readable(control_connection.socket.fd));
    assert_int_equal(
        warprsa_control_connection_receive(&control_connection, &message, fds),
        WARPRSA_RECEIVED);
    assert_int_equal(message.type, WARPRSA_MESSAGE_REFUSED);
    assert_int_equal(message.version, WARPRSA_PROTOCOL);
    WAIT_UNTIL(test_server_logged(&s, both));
    warprsa_control_connection_close(&control_connection);
}

TEST_IN(messages_out_of_place, setup, teardown)
{
    static const warprsa_shm_message bad[] = {
        {.type = 0},
        {.type = 99},
        {.type = WARPRSA_SHM_KEY, .number = 3, .generation = 6},
        {.type = WARPRSA_SHM_KEY, .number = 16, .generation = 1},
        {.type = WARPRSA_SHM_KEY, .number = UINT32_MAX, .generation = 1},
        {.type = WARPRSA_SHM_KEY_FREE, .number = 4, .generation = 5},
        {.type = WARPRSA_SHM_KEY_FREE, .number = 3, .generation = 4},
        {.type = WARPRSA_SHM_KEY_FREE, .number = 16, .generation = 5},
        {.type = WARPRSA_SHM_NOTIFIER, .number = 0},
        {.type = WARPRSA_SHM_NOTIFIER, .number = 65},
        {.type = WARPRSA_SHM_NOTIFIER, .number = UINT32_MAX},
    };

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        unsigned broken = test_server_broken(&s);
        raw_client x;

        enter(&x);
        raw_client_send(&x, &bad[i]);
        is_disconnected_for_it(&x, broken);
    }
}

/* A session is attached once, and over the control connection that was offered
 * it; a number that is of no offer any more means nothing. */
TEST_IN(attached_twice_or_by_others, setup, teardown)
{
    raw_client x, y;

    enter(&x);
    raw_client_attach(&x);
    WAIT_UNTIL(raw_client_connect(&y, s.path, 16));
    raw_client_attach(&x);
    raw_client_fill(&x, 0, 1, 3, 5);
    raw_client_submit(&x, 0);
    assert_int_equal(raw_client_answer(&x, 0, 1), WARPRSA_DONE);
    raw_client_key(&y, 3, 5, 1);
    raw_client_fill(&y, 0, 1, 3, 5);
    raw_client_submit(&y, 0);
    assert_int_equal(atomic_load(&y.shm.slot[0].answered), 0);
    raw_client_attach(&y);
    assert_int_equal(raw_client_answer(&y, 0, 1), WARPRSA_DONE);
    raw_client_leave(&x);
    raw_client_leave(&y);
}

TEST_IN(slots_that_are_not_there, setup, teardown)
{
    static const uint32_t slots[] = {16, 17, 4096, UINT32_MAX};

    for (unsigned i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        unsigned broken = test_server_broken(&s);
        raw_client x;

        enter(&x);
        raw_client_submit(&x, slots[i]);
        is_disconnected_for_it(&x, broken);
    }
}

TEST_IN(a_slot_submitted_twice, setup, teardown)
{
    unsigned broken = test_server_broken(&s);
    raw_client x;

    enter(&x);
    FAKE_SET(hold, true);
    raw_client_fill(&x, 2, 1, 3, 5);
    raw_client_submit(&x, 2);
    FAKE_WAIT(fake.running == 1);
    raw_client_submit(&x, 2);
    is_disconnected_for_it(&x, broken);
    FAKE_SET(hold, false);
}

/* The rest of these are refused, not disconnected: an honest client may meet
 * them at some limit. */
TEST_IN(requests_with_others_keys, setup, teardown)
{
    static const uint32_t handles[][2] = {
        {3, 4},  {3, 6},  {3, 0},          {2, 5}, {0, 1},
        {15, 5}, {16, 5}, {UINT32_MAX, 5}, {0, 0},
    };
    raw_client x;
    uint32_t generation = 1;

    enter(&x);
    raw_client_fill(&x, 0, generation, 3, 5);
    raw_client_submit(&x, 0);
    assert_int_equal(raw_client_answer(&x, 0, generation), WARPRSA_DONE);
    test_client_operate(&good, good_key, WARPRSA_CLASS_2048, 99, 1);
    for (unsigned i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
        raw_client_fill(&x, 0, ++generation, handles[i][0], handles[i][1]);
        memset(x.shm.slot[0].request.number, 0xaa, WARPRSA_MODULUS_BYTES_MAX);
        raw_client_submit(&x, 0);
        assert_int_equal(raw_client_answer(&x, 0, generation), WARPRSA_REFUSED);
        assert_int_equal(x.shm.slot[0].request.number[0], 0xaa);
    }
    /* The number of a freed key refers to no key until another one is sent. */
    {
        const warprsa_shm_message message = {
            .type = WARPRSA_SHM_KEY_FREE, .number = 3, .generation = 5};

        raw_client_send(&x, &message);
        raw_client_fill(&x, 0, ++generation, 3, 5);
        raw_client_submit(&x, 0);
        /* Served before the message, or after: both are right. */
        (void)raw_client_answer(&x, 0, generation);
        WAIT_UNTIL(s.queue_config.counters->keys == 1);
        raw_client_fill(&x, 0, ++generation, 3, 5);
        raw_client_submit(&x, 0);
        assert_int_equal(raw_client_answer(&x, 0, generation), WARPRSA_REFUSED);
    }
    raw_client_key(&x, 3, 6, 2);
    raw_client_fill(&x, 0, ++generation, 3, 6);
    raw_client_submit(&x, 0);
    assert_int_equal(raw_client_answer(&x, 0, generation), WARPRSA_DONE);
    raw_client_leave(&x);
}

TEST_IN(requests_that_do_not_fit, setup, teardown)
{
    static const uint32_t bytes[] = {0, 1, 127, 129, 256, 512, 513, UINT32_MAX};
    warprsa_private_key key = fake_key(WARPRSA_CLASS_1024, 1);
    const uint8_t *n = key.n + sizeof(key.n) - key.modulus_bytes;
    raw_client x;
    uint32_t generation = 1;

    enter(&x);
    for (unsigned i = 0; i < sizeof(bytes) / sizeof(bytes[0]);
         i++, generation++) {
        raw_client_fill(&x, 1, generation, 3, 5);
        x.shm.slot[1].request.bytes = bytes[i];
        raw_client_submit(&x, 1);
        assert_int_equal(raw_client_answer(&x, 1, generation), WARPRSA_REFUSED);
    }
    /* The modulus, and one less. */
    raw_client_fill(&x, 1, generation, 3, 5);
    memcpy(x.shm.slot[1].request.number, n, key.modulus_bytes);
    raw_client_submit(&x, 1);
    assert_int_equal(raw_client_answer(&x, 1, generation), WARPRSA_REFUSED);
    generation++;
    raw_client_fill(&x, 1, generation, 3, 5);
    memcpy(x.shm.slot[1].request.number, n, key.modulus_bytes);
    x.shm.slot[1].request.number[key.modulus_bytes - 1]--;
    raw_client_submit(&x, 1);
    assert_int_equal(raw_client_answer(&x, 1, generation), WARPRSA_DONE);
    raw_client_leave(&x);
}

/* To change a request after it was submitted changes nothing: it was copied. */
TEST_IN(a_request_changed_under_way, setup, teardown)
{
    fake_request expected;
    raw_client x;

    enter(&x);
    FAKE_SET(hold, true);
    raw_client_fill(&x, 1, 1, 3, 5);
    memset(&expected, 0, sizeof(expected));
    expected.key = fake_key(WARPRSA_CLASS_1024, 1);
    memcpy(expected.input, x.shm.slot[1].request.number, 128);
    raw_client_submit(&x, 1);
    FAKE_WAIT(fake.running == 1);
    memset(&x.shm.slot[1].request, 0xff, sizeof(warprsa_shm_request));
    FAKE_SET(hold, false);
    assert_int_equal(raw_client_answer(&x, 1, 1), WARPRSA_DONE);
    memcpy(expected.output, x.shm.slot[1].request.number, 128);
    assert_true(fake_is_right(&expected));
    raw_client_leave(&x);
}

/* Random bytes all over the shared memory, again and again. */
TEST_IN(scribbling, setup, teardown)
{
    unsigned seed = 1;

    for (unsigned i = 0; i < SCRIBBLES; i++) {
        raw_client x;
        uint8_t *at;

        enter(&x);
        at = (uint8_t *)x.shm.head;
        for (size_t j = 0; j < x.shm.size; j += 1 + (i % 7) * 3)
            at[j] = (uint8_t)rand_r(&seed);
        if (i % 2 == 0) /* valid sequences with wild slots */
            for (uint32_t j = 0; j <= x.shm.mask; j++) {
                atomic_store(&x.shm.cell[j].slot, (uint32_t)rand_r(&seed) % 20);
                atomic_store(&x.shm.cell[j].sequence, j + 1);
            }
        raw_client_notify(&x);
        raw_client_leave(&x);
    }
    WAIT_UNTIL(warprsa_server_clients(s.server) == 1);
}

/* The file keeps its size and its memory, so that nothing the client does makes
 * the daemon's own accesses fail. */
TEST_IN(the_shm_cannot_be_taken_away, setup, teardown)
{
    raw_client x;

    enter(&x);
    raw_client_fill(&x, 0, 1, 3, 5);
    raw_client_submit(&x, 0);
    assert_int_equal(raw_client_answer(&x, 0, 1), WARPRSA_DONE);
    assert_int_equal(ftruncate(x.memory, 0), -1);
    assert_int_equal(ftruncate(x.memory, (off_t)x.shm.size * 2), -1);
    assert_int_equal(fallocate(x.memory,
                               FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                               4096),
                     -1);
    /* QEMU as an emulator of programs passes over this one. */
    (void)madvise(x.shm.head, x.shm.size, MADV_REMOVE);
    assert_int_equal(atomic_load(&x.shm.slot[0].answered), 1);
    assert_ptr_equal(
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, x.memory, 0),
        MAP_FAILED);
    raw_client_leave(&x);
}

/* Pages that are larger than 4 KB are allocated whole. */
static bool is_allocated(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    assert_true(st.st_size > 0);
    return st.st_blocks * 512 >= st.st_size;
}

static bool has_large_pages(void)
{
    int fd = memfd_create("page", MFD_CLOEXEC);
    struct stat st;

    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    assert_int_equal(posix_fallocate(fd, 0, 1), 0);
    assert_int_equal(fstat(fd, &st), 0);
    close(fd);
    return st.st_blocks * 512 > 4096;
}

/* The memory of a session, as of these who allocate. */
static void allocate_shm(bool by_daemon)
{
    warprsa_shm shm, theirs;
    int fd;

    assert_true(warprsa_shm_create(&shm, 1024, true, by_daemon, &fd));
    assert_int_equal(is_allocated(fd), by_daemon);
    assert_true(warprsa_shm_map(&theirs, 1024, true, fd));
    assert_true(is_allocated(fd));
    assert_true(warprsa_shm_seal(fd));
    warprsa_shm_unmap(&theirs);
    warprsa_shm_unmap(&shm);
    close(fd);
}

/* A client may keep the file of a session for ever. So its memory is the
 * client's, but for the head, and the daemon takes no file that has less. The
 * gateway, whose sessions are large, gives them back. */
TEST_IN(the_client_allocates_the_shm, setup, teardown)
{
    raw_client x;

    if (has_large_pages())
        skip();
    allocate_shm(false);
    allocate_shm(true);
    WAIT_UNTIL(raw_client_connect(&x, s.path, 16));
    assert_int_equal(fallocate(x.memory,
                               FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096,
                               4096),
                     0);
    raw_client_attach(&x);
    raw_client_is_disconnected(&x);
    raw_client_leave(&x);
    WAIT_UNTIL(test_server_logged(&s, "is refused: its shared memory"));
    WAIT_UNTIL(warprsa_server_clients(s.server) == 1);
}

/* The daemon does not wait for a client that never reads its notifier, be its
 * end in blocking mode or not. */
TEST_IN(a_notifier_that_is_never_read, setup, teardown)
{
    raw_client x;
    int end;

    enter(&x);
    end = raw_client_notifier(&x, 1);
    assert_int_equal(fcntl(end, F_SETFL, 0), 0);
    for (uint32_t generation = 1; generation <= NOTIFICATIONS_UNREAD;
         generation++) {
        raw_client_fill(&x, 0, generation, 3, 5);
        x.shm.slot[0].request.notifier = 1;
        raw_client_submit(&x, 0);
        assert_int_equal(raw_client_answer(&x, 0, generation), WARPRSA_DONE);
    }
    test_client_operate(&good, good_key, WARPRSA_CLASS_2048, 99, 1);
    close(end);
    raw_client_leave(&x);
}

TEST_IN(one_that_dies_holding_slots, setup, teardown)
{
    raw_client x;

    enter(&x);
    FAKE_SET(hold, true);
    for (uint32_t slot = 0; slot < 16; slot++) {
        raw_client_fill(&x, slot, slot + 1, 3, 5);
        raw_client_submit(&x, slot);
        FAKE_WAIT(fake.running == 1); /* a batch of the first one */
    }
    WAIT_UNTIL(warprsa_queue_depth(s.queue) == 16);
    raw_client_leave(&x);
    WAIT_UNTIL(warprsa_server_clients(s.server) == 1);
    FAKE_SET(hold, false);
    test_client_operate(&good, good_key, WARPRSA_CLASS_2048, 99, 1);
    WAIT_UNTIL(s.queue_config.counters->keys == 1);
    WAIT_UNTIL(warprsa_queue_depth(s.queue) == 0);
    /* Of its requests only that which was running when it died. */
    assert_int_equal(s.queue_config.counters->batch_operations, 2);
}

/* Asks for a session and accepts none. Whether one was offered. */
static bool is_offered_one(warprsa_control_connection *control)
{
    const warprsa_message wanted = {.slots = 1, .keys = 1};
    int fds[WARPRSA_MESSAGE_FDS];
    warprsa_message reply;
    char why[256];

    assert_true(
        warprsa_control_connection_request(control, &wanted, why, sizeof(why)));
    assert_true(becomes_readable(control->socket.fd));
    assert_int_equal(warprsa_control_connection_receive(control, &reply, fds),
                     WARPRSA_RECEIVED);
    warprsa_message_close_fds(fds);
    return reply.type == WARPRSA_MESSAGE_WELCOME;
}

/* A session on offer has a seat of its user, as one that was accepted. An
 * offer lasts for five seconds, which is enough unless the machine stands
 * still. */
TEST_IN(as_many_offers_as_seats, setup, teardown)
{
    const uint64_t until_ns = warprsa_clock_ns() + OFFER_NS;
    warprsa_server_limits limits = s.config.limits;
    warprsa_control_connection first, second;
    char why[256];

    limits.user_clients = 3; /* `good` has one */
    warprsa_server_set_limits(s.server, &limits);
    assert_true(
        warprsa_control_connection_open(&first, s.path, why, sizeof(why)));
    assert_true(
        warprsa_control_connection_open(&second, s.path, why, sizeof(why)));
    assert_true(is_offered_one(&first));
    assert_true(is_offered_one(&second));
    if (is_offered_one(&first) || is_offered_one(&second))
        assert_true(warprsa_clock_ns() > until_ns);
    warprsa_control_connection_close(&first);
    warprsa_control_connection_close(&second);
    WAIT_UNTIL(warprsa_server_clients(s.server) == 1);
}

TEST_IN(as_many_control_connections_as_allowed, setup, teardown)
{
    warprsa_control_connection control_connections[16];
    char why[256], byte;

    for (unsigned i = 0; i < 16; i++)
        assert_true(warprsa_control_connection_open(&control_connections[i],
                                                    s.path, why, sizeof(why)));
    /* `good` has one of the 12 allowed. */
    for (unsigned i = 11; i < 16; i++) {
        assert_true(becomes_readable(control_connections[i].socket.fd));
        assert_int_equal(
            recv(control_connections[i].socket.fd, &byte, 1, MSG_DONTWAIT), 0);
    }
    assert_int_equal(
        recv(control_connections[0].socket.fd, &byte, 1, MSG_DONTWAIT), -1);
    for (unsigned i = 0; i < 16; i++)
        warprsa_control_connection_close(&control_connections[i]);
}

/* Without descriptors left no new client gets in, and those that are in go
 * on. */
TEST_IN(out_of_descriptors, setup, teardown)
{
    struct rlimit before, tight;
    test_client late;

    test_client_operate(&good, good_key, WARPRSA_CLASS_2048, 99, 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)dup(0);
    assert_int_equal(close((int)tight.rlim_cur), 0);
    /* For a control connection at each end, and a connection at this one. */
    tight.rlim_cur += 4;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    test_client_open(&late, &s, LONG_MS);
    for (unsigned i = 0; i < 10; i++) {
        assert_false(test_client_is_ready(&late));
        test_client_operate(&good, good_key, WARPRSA_CLASS_2048, 99, i);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    WAIT_UNTIL(test_client_is_ready(&late));
    test_client_close(&late);
}

RUN_TESTS(NULL, NULL)
