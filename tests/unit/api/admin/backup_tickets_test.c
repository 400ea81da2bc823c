/* Tickets for backups: good once, for a minute, and not too many. */
#include "admin/backup.h"

#include "unit.h"

static struct backup_tickets tickets;
static struct backup_ticket ticket;

static void begin(void)
{
    memset(&tickets, 0, sizeof tickets);
    pthread_mutex_init(&tickets.lock, NULL);
}

TEST(backup_ticket_works_once)
{
    struct backup_ticket taken;
    const struct kx_token made = {.id = "0123456789abcdef"};
    struct kx_token *token = kx_token_copy(&made);
    begin();
    assert_int_equal(backup_tickets_make(&tickets, token, 1000, &ticket),
                     KX_OK);
    kx_token_release(token); /* the table has a reference */
    assert_int_equal(strlen(ticket.text), BACKUP_TICKET_SIZE);
    assert_int_equal(ticket.expires_at_ms, 1000 + BACKUP_TICKET_MS);
    assert_true(
        backup_tickets_take(&tickets, kx_text(ticket.text), 2000, &taken));
    assert_ptr_equal(taken.token, token);
    assert_string_equal(token->id, made.id);
    assert_false(
        backup_tickets_take(&tickets, kx_text(ticket.text), 2000, &taken));
    kx_token_release(token);
}

TEST(backup_ticket_expires)
{
    struct backup_ticket taken;
    begin();
    backup_tickets_make(&tickets, NULL, 1000, &ticket);
    assert_false(backup_tickets_take(&tickets, kx_text(ticket.text),
                                     1000 + BACKUP_TICKET_MS, &taken));
    assert_true(backup_tickets_take(&tickets, kx_text(ticket.text),
                                    999 + BACKUP_TICKET_MS, &taken));
    assert_null(taken.token);
}

TEST(backup_ticket_rejects_other_texts)
{
    struct backup_ticket taken;
    begin();
    static const char *const texts[] = {"", "0",
                                        "00000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(
            backup_tickets_take(&tickets, kx_text(texts[i]), 0, &taken));
    backup_tickets_make(&tickets, NULL, 1000, &ticket);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(
            backup_tickets_take(&tickets, kx_text(texts[i]), 0, &taken));
    ticket.text[BACKUP_TICKET_SIZE - 1] ^= 1;
    assert_false(
        backup_tickets_take(&tickets, kx_text(ticket.text), 2000, &taken));
}

TEST(backup_tickets_reuse_places_of_used_and_expired_tickets)
{
    struct backup_ticket taken;
    begin();
    for (int i = 0; i < BACKUP_TICKETS_MAX; i++)
        assert_int_equal(backup_tickets_make(&tickets, NULL, 1000 + i, &ticket),
                         KX_OK);
    assert_int_equal(backup_tickets_make(&tickets, NULL, 2000, &taken),
                     KX_BUSY);
    assert_true(
        backup_tickets_take(&tickets, kx_text(ticket.text), 2000, &taken));
    assert_int_equal(backup_tickets_make(&tickets, NULL, 2000, &ticket), KX_OK);
    assert_int_equal(backup_tickets_make(&tickets, NULL, 2000, &ticket),
                     KX_BUSY);
    assert_int_equal(
        backup_tickets_make(&tickets, NULL, 1000 + BACKUP_TICKET_MS, &ticket),
        KX_OK);
}

/* The sanitizers find the token if it is not released. */
TEST(place_of_expired_ticket_is_reused_without_its_token)
{
    const struct kx_token made = {.id = "0123456789abcdef"};
    begin();
    for (int i = 0; i < BACKUP_TICKETS_MAX + 1; i++) {
        struct kx_token *token = kx_token_copy(&made);
        assert_int_equal(backup_tickets_make(&tickets, token,
                                             1000 + i * BACKUP_TICKET_MS,
                                             &ticket),
                         KX_OK);
        kx_token_release(token);
    }
    for (int i = 0; i < BACKUP_TICKETS_MAX; i++)
        kx_token_release(tickets.all[i].token);
}
