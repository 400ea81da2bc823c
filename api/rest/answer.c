/* Replies that several handlers give. The conditions of a read are compared
 * here with the entry just read. The conditions of a write become checks of its
 * commit (conditions.h), because only the writer can compare them in time. */
#include "rest/answer.h"

#include <inttypes.h>
#include <talloc.h>
#include <time.h>

#include "rest/conditions.h"
#include "rest/entryjson.h"
#include "http/problem.h"

void answer_json(struct reply *reply, int status)
{
    reply->status = status;
    reply->content_type = "application/json";
}

void answer_etag(struct reply *reply, uint64_t stamp)
{
    etag_write(stamp, reply->etag);
    reply_header(reply, "ETag", reply->etag);
}

const char *answer_key_text(const struct request *request, struct kx_slice key)
{
    struct kx_buffer text;
    kx_buffer_init(&text, request->memory);
    kx_key_to_json(key, &text);
    kx_add_byte(&text, '\0');
    return text.failed ? "" : (const char *)text.data;
}

/* True if the check came from If-Match, as its condition shows. */
static bool is_if_match(const struct kx_check *check)
{
    return check->condition == KX_IS_PRESENT ||
           check->condition == KX_IS_ONE_OF;
}

void answer_precondition(struct request *request, struct reply *reply,
                         const struct kx_check *failed, uint64_t stamp)
{
    struct kx_buffer actual;
    char etag[ETAG_SIZE + 1];
    const char *key = answer_key_text(request, failed->key);
    etag_write(stamp, etag);
    if (stamp == 0)
        problem(request, reply, PROBLEM_PRECONDITION_FAILED,
                "There is no entry %s, and If-Match requires one.", key);
    else if (is_if_match(failed))
        problem(request, reply, PROBLEM_PRECONDITION_FAILED,
                "The entry %s has the ETag %s, which is not in If-Match.", key,
                etag);
    else
        problem(request, reply, PROBLEM_PRECONDITION_FAILED,
                "The entry %s already exists, with the ETag %s.", key, etag);
    kx_buffer_init(&actual, request->memory);
    entryjson_write_stamp(stamp, &actual);
    if (actual.failed)
        reply->body.failed = true;
    else
        problem_member_json(reply, "versionstamp", kx_buffer_slice(&actual));
    if (stamp != 0)
        answer_etag(reply, stamp);
}

/* Sends bytes with the media type that they were stored with. Browsers must not
 * guess another type, nor run scripts in them with the rights of this origin.
 */
static void send_bytes(struct request *request, struct reply *reply,
                       const struct kx_value *value)
{
    reply->content_type =
        talloc_strndup(request->memory, (const char *)value->media_type.data,
                       value->media_type.size);
    if (reply->content_type == NULL)
        reply->body.failed = true;
    reply_header(reply, "X-Content-Type-Options", "nosniff");
    reply_header(reply, "Content-Security-Policy", "sandbox");
    kx_add_slice(&reply->body, value->data);
}

/* Adds the headers of an expiry: a number, and as text unless its year has more
 * than four digits. */
static void add_expiry(struct request *request, struct reply *reply, int64_t ms)
{
    struct tm parts;
    char moment[32];
    time_t seconds = ms / 1000;
    reply_headerf(request, reply, "Kindex-Expires-At", "%" PRId64, ms);
    if (gmtime_r(&seconds, &parts) == NULL || parts.tm_year > 9999 - 1900)
        return;
    strftime(moment, sizeof moment, "%Y-%m-%dT%H:%M:%S", &parts);
    reply_headerf(request, reply, "Kindex-Expires-At-Text", "%s.%03dZ", moment,
                  (int)(ms % 1000));
}

void answer_value(struct request *request, struct reply *reply,
                  const struct kx_entry *entry, const struct projection *fields)
{
    reply->status = 200;
    if (!entry->reduced)
        answer_etag(reply, entry->stamp);
    if (entry->expires_at_ms != 0)
        add_expiry(request, reply, entry->expires_at_ms);
    if (fields->count == 0 && entry->value.encoding == KX_BYTES)
        send_bytes(request, reply, &entry->value);
    else if (fields->count > 0
                 ? projection_write(fields, &entry->value, &reply->body)
                 : kx_value_to_json(&entry->value, &reply->body))
        reply->content_type = "application/json";
    else
        reply->content_type = "application/vnd.kindex.typed+json";
}

/* Answers 304: the client's copy is current. The body is not sent; it is made
 * for its length (RFC 9110 section 8.6). */
static void send_unchanged(struct request *request, struct reply *reply,
                           const struct kx_entry *entry,
                           const struct projection *fields)
{
    answer_value(request, reply, entry, fields);
    reply->status = 304;
    reply->content_type = NULL;
}

/* Answers a condition that does not hold: 412 for If-Match, 304 for
 * If-None-Match (RFC 9110 sections 13.1.1 and 13.1.2). */
static void send_refusal(struct request *request, struct reply *reply,
                         const struct kx_entry *entry,
                         const struct projection *fields,
                         const struct kx_check *failed)
{
    if (is_if_match(failed)) {
        answer_precondition(request, reply, failed, entry->stamp);
        return;
    }
    send_unchanged(request, reply, entry, fields);
}

/* A reduced entry (totals without expired entries) may differ from what the
 * client has under the same versionstamp, so it is never unchanged. */
static bool holds(const struct kx_check *check, const struct kx_entry *entry)
{
    return (entry->reduced && check->condition == KX_IS_NONE_OF) ||
           kx_check_holds(check, entry->stamp);
}

void answer_entry(struct request *request, struct reply *reply,
                  const struct kx_entry *entry, const struct projection *fields)
{
    struct conditions conditions;
    if (!conditions_read(request_header(request, "If-Match"),
                         request_header(request, "If-None-Match"), entry->key,
                         request->memory, &conditions)) {
        reply->body.failed = true;
        return;
    }
    for (size_t i = 0; i < conditions.count; i++)
        if (!holds(&conditions.checks[i], entry)) {
            send_refusal(request, reply, entry, fields, &conditions.checks[i]);
            return;
        }
    answer_value(request, reply, entry, fields);
}
