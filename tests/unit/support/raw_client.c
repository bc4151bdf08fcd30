/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client that keeps to no rule: see raw_client.h.
 */
#include "tests/unit/support/raw_client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool becomes_readable(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    int ready;

    do
        ready = poll(&one, 1, LONG_MS);
    while (ready < 0 && errno == EINTR); /* libFuzzer's timer, for one */
    return ready == 1;
}

bool raw_client_connect(raw_client *x, const char *path, uint32_t slots)
{
    return raw_client_connect_for(x, path, slots, true);
}

bool raw_client_connect_for(raw_client *x, const char *path, uint32_t slots,
                            bool uses)
{
    warprsa_message wanted = {
        .slots = slots, .keys = 16, .notifiers = 64, .uses = uses};
    int fds[WARPRSA_MESSAGE_FDS];
    char why[256];
    bool welcome;

    memset(x, 0, sizeof(*x));
    assert_true(warprsa_control_connection_open(&x->control_connection, path,
                                                why, sizeof(why)));
    /* One that gets no seat may be closed before this. */
    (void)warprsa_control_connection_request(&x->control_connection, &wanted,
                                             why, sizeof(why));
    assert_true(becomes_readable(x->control_connection.socket.fd));
    welcome =
        warprsa_control_connection_receive(&x->control_connection, &x->welcome,
                                           fds) == WARPRSA_RECEIVED &&
        x->welcome.type == WARPRSA_MESSAGE_WELCOME;
    if (!welcome) {
        warprsa_control_connection_close(&x->control_connection);
        return false;
    }
    x->socket = fds[0];
    x->memory = fds[1];
    x->eventfd = fds[2];
    assert_true(warprsa_shm_map(&x->shm, x->welcome.slots, x->welcome.uses != 0,
                                x->memory));
    return true;
}

void raw_client_notify(const raw_client *x)
{
    static const uint64_t one = 1;

    atomic_store(&x->shm.head->notify_flags,
                 WARPRSA_NOTIFY_RING | WARPRSA_NOTIFY_MESSAGE);
    (void)!write(x->eventfd, &one, sizeof(one));
}

void raw_client_send(raw_client *x, const warprsa_shm_message *message)
{
    assert_true(warprsa_shm_send(&x->shm, &x->messages_offset, message));
    raw_client_notify(x);
}

void raw_client_attach(const raw_client *x)
{
    assert_true(warprsa_control_connection_attached(&x->control_connection,
                                                    x->welcome.number));
}

int raw_client_notifier(raw_client *x, uint32_t number)
{
    const warprsa_shm_message asked = {.type = WARPRSA_SHM_NOTIFIER,
                                       .number = number};
    warprsa_message message;
    int fds[WARPRSA_MESSAGE_FDS];

    raw_client_send(x, &asked);
    assert_true(becomes_readable(x->socket));
    assert_int_equal(warprsa_message_receive(x->socket, &message, fds),
                     WARPRSA_RECEIVED);
    assert_int_equal(message.type, WARPRSA_MESSAGE_NOTIFIER);
    assert_int_equal(message.number, number);
    assert_true(fds[0] >= 0);
    return fds[0];
}

void raw_client_put(raw_client *x, uint32_t slot)
{
    warprsa_ring_cell *cell = &x->shm.cell[x->ring_offset & x->shm.mask];

    atomic_store(&cell->slot, slot);
    atomic_store(&cell->sequence, ++x->ring_offset);
}

void raw_client_submit(raw_client *x, uint32_t slot)
{
    raw_client_put(x, slot);
    raw_client_notify(x);
}

void raw_client_fill(const raw_client *x, uint32_t slot, uint32_t generation,
                     uint32_t key, uint32_t key_generation)
{
    warprsa_shm_request *r = &x->shm.slot[slot].request;

    memset(r, 0, sizeof(*r));
    r->generation = generation;
    r->key = key;
    r->key_generation = key_generation;
    r->bytes = 128;
    r->number[127] = (uint8_t)generation;
}

static bool is_answered(const raw_client *x, uint32_t slot, uint32_t generation)
{
    return atomic_load(&x->shm.slot[slot].answered) == generation;
}

warprsa_answer raw_client_answer(const raw_client *x, uint32_t slot,
                                 uint32_t generation)
{
    WAIT_UNTIL(is_answered(x, slot, generation));
    return (warprsa_answer)x->shm.slot[slot].answer;
}

void raw_client_is_disconnected(const raw_client *x)
{
    char byte;

    assert_true(becomes_readable(x->socket));
    assert_true(recv(x->socket, &byte, 1, MSG_DONTWAIT) <= 0);
}

void raw_client_leave(raw_client *x)
{
    warprsa_shm_unmap(&x->shm);
    close(x->socket);
    close(x->memory);
    close(x->eventfd);
    warprsa_control_connection_close(&x->control_connection);
}
