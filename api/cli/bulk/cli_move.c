/* Moves the store at a KV Connect address.
 *
 * A pass reads all entries of the source in key order, in pages. Each page is a
 * separate snapshot. The protocol shows neither what has changed nor what
 * was deleted, so each pass compares the source with the records that the last
 * pass left in the state file: one line for each entry, in key order, with the
 * versionstamps that the entry has in the source and here. What is new or newer
 * is stored; what is gone is deleted. A write here is conditional on the
 * recorded versionstamp, so it never replaces what somebody else has written.
 *
 * A pass writes its records to FILE.part, each batch before it is sent, and
 * fills in the versionstamp when the batch is answered. At the end FILE.part
 * becomes FILE. If the program ends before, some records have no versionstamp:
 * the next run reads these entries here, and continues with the first of them.
 *
 * One file because the passes, the records, and what an earlier run has left
 * work on the same structures, and each part is used by the next alone. */
#include "cli/bulk/cli_move.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <talloc.h>
#include <unistd.h>

#include "cli/bulk/cli_connect.h"
#include "cli/bulk/cli_interrupt.h"
#include "cli/bulk/cli_pipeline.h"
#include "cli/cli_json.h"
#include "cli/cli_progress.h"

/* ==== The records ======================================================= */

/* A line has fields of fixed width, so that the versionstamp here can be filled
 * in, and the key in hexadecimal digits:
 *
 *   HERE BEFORE THERE HASH KEY
 *
 * HERE is the versionstamp that the import gave the entry; BEFORE the one that
 * it had given it in an earlier pass; THERE the one in the source; HASH is that
 * of the value, as the server shows it. */
enum { STAMP = CLI_CONNECT_STAMP };
enum {
    AT_HERE = 0,
    AT_BEFORE = AT_HERE + STAMP + 1,
    AT_THERE = AT_BEFORE + STAMP + 1,
    AT_HASH = AT_THERE + STAMP + 1,
    AT_KEY = AT_HASH + 17,
    PENDING_MAX = 1 << 20
};
static const char UNKNOWN[] = "????????????????????"; /* not answered yet */
static const char NONE[] = "--------------------"; /* not ours, or no entry */
static const char HEADER[] = "kindex-connect 1 ";

struct moved {
    char here[STAMP + 1];
    char before[STAMP + 1];
    char there[STAMP + 1];
    uint64_t hash;
    struct kx_buffer key; /* encoded parts; empty: there is no record */
    uint64_t offset;      /* of its line */
};

struct record_reader {
    FILE *file; /* NULL: no records */
    char *line;
    size_t capacity;
    uint64_t offset; /* of the next line */
    bool damaged;    /* after the message */
    const char *path;
};

static bool same_stamp(const char *a, const char *b)
{
    return memcmp(a, b, STAMP) == 0;
}

/* Opens a file of records, which may be absent. False after printing why it is
 * not one of this import. */
static bool open_records(struct record_reader *reader, const char *path,
                         const char *header)
{
    *reader = (struct record_reader){.file = fopen(path, "r"), .path = path};
    if (reader->file == NULL)
        return errno == ENOENT ||
               cli_fail("%s: %s", path, strerror(errno)) == CLI_OK;
    ssize_t size = getline(&reader->line, &reader->capacity, reader->file);
    if (size > 0 && strcmp(reader->line, header) == 0) {
        reader->offset = (uint64_t)size;
        return true;
    }
    cli_fail("%s is not the state file of an import from this address under "
             "this prefix",
             path);
    return false;
}

static void close_records(struct record_reader *reader)
{
    if (reader->file != NULL)
        fclose(reader->file);
    free(reader->line);
}

static bool has_fields(const char *line, size_t size)
{
    return size > AT_KEY && line[AT_BEFORE - 1] == ' ' &&
           line[AT_THERE - 1] == ' ' && line[AT_HASH - 1] == ' ' &&
           line[AT_KEY - 1] == ' ';
}

static bool parse_record(const char *line, size_t size, struct moved *record)
{
    char *end;
    if (!has_fields(line, size))
        return false;
    memcpy(record->here, line + AT_HERE, STAMP);
    memcpy(record->before, line + AT_BEFORE, STAMP);
    memcpy(record->there, line + AT_THERE, STAMP);
    record->hash = strtoull(line + AT_HASH, &end, 16);
    return end == line + AT_KEY - 1 &&
           kx_hex_read(kx_slice(line + AT_KEY, size - AT_KEY), &record->key) &&
           record->key.size > 0;
}

/* Reads the next record; record->key is empty after the last. The last line may
 * be incomplete, if the program was killed while it was written. */
static void next_record(struct record_reader *reader, struct moved *record)
{
    kx_buffer_clear(&record->key);
    ssize_t size =
        reader->file == NULL
            ? -1
            : getline(&reader->line, &reader->capacity, reader->file);
    if (size <= 0 || reader->line[size - 1] != '\n')
        return;
    record->offset = reader->offset;
    reader->offset += (uint64_t)size;
    if (parse_record(reader->line, (size_t)size - 1, record))
        return;
    kx_buffer_clear(&record->key);
    reader->damaged = true;
    cli_fail("%s is damaged", reader->path);
}

/* Reads the next record of an entry that the import has stored. */
static void next_own_record(struct record_reader *reader, struct moved *record)
{
    do
        next_record(reader, record);
    while (record->key.size > 0 && same_stamp(record->here, NONE));
}

/* ---- Writing ------------------------------------------------------------ */

struct record_writer {
    int fd; /* -1: no records are kept */
    uint64_t size;
    struct kx_buffer pending; /* not written yet */
};

/* Appends a record. Returns the offset of its line. */
static uint64_t add_record(struct record_writer *writer,
                           const struct moved *record)
{
    struct kx_buffer *out = &writer->pending;
    uint64_t offset = writer->size + out->size;
    char fields[AT_KEY + 1];
    if (writer->fd < 0)
        return 0;
    snprintf(fields, sizeof fields, "%.20s %.20s %.20s %016" PRIx64 " ",
             record->here, record->before, record->there, record->hash);
    kx_add(out, fields, AT_KEY);
    if (kx_buffer_reserve(out, 2 * record->key.size + 2)) {
        kx_hex_write(kx_buffer_slice(&record->key),
                     (char *)out->data + out->size);
        out->size += 2 * record->key.size;
        kx_add_byte(out, '\n');
    }
    return offset;
}

static bool write_at(int fd, struct kx_slice bytes, uint64_t offset)
{
    while (bytes.size > 0) {
        ssize_t done = pwrite(fd, bytes.data, bytes.size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes = kx_slice(bytes.data + done, bytes.size - (size_t)done);
        offset += (uint64_t)done;
    }
    return true;
}

/* Writes the pending records. */
static bool flush_records(struct record_writer *writer)
{
    struct kx_buffer *out = &writer->pending;
    if (writer->fd < 0)
        return true;
    if (out->failed ||
        !write_at(writer->fd, kx_buffer_slice(out), writer->size))
        return false;
    writer->size += out->size;
    kx_buffer_clear(out);
    return true;
}

/* ==== The pass ========================================================== */

enum { ADDRESS_MAX = 2000, LOOK_UP_MAX = 16, PATH_BYTES_MAX = 4096 };

struct moving {
    struct cli *cli;
    struct cli_connect source;
    struct cli_deno deno;
    struct cli_pipeline pipeline;
    struct cli_progress progress;
    struct kx_buffer prefix; /* encoded parts */
    struct kx_buffer key;    /* of an entry here */
    struct kx_buffer json;
    char header[2 * KX_KEY_MAX + ADDRESS_MAX + sizeof HEADER];
    char part_path[PATH_BYTES_MAX];
    struct record_reader old; /* of the last pass */
    struct moved last;        /* the next one of these */
    struct moved made;        /* the one that is written */
    struct record_writer part;
    struct kx_buffer after;        /* where an earlier run of the pass ended */
    struct cli_connect_entry next; /* of the source */
    bool second;
    uint64_t stored, deleted, unchanged;
    uint64_t kept;    /* stored here by somebody else */
    uint64_t changed; /* here, since they were imported */
};

/* Sets moving->json to the key that an entry of the source has here. */
static void set_key(struct moving *moving, struct kx_slice key)
{
    kx_buffer_clear(&moving->key);
    kx_buffer_clear(&moving->json);
    kx_add_slice(&moving->key, kx_buffer_slice(&moving->prefix));
    kx_add_slice(&moving->key, key);
    kx_key_to_json(kx_buffer_slice(&moving->key), &moving->json);
}

static void copy_record(struct moving *moving, const struct moved *record)
{
    add_record(&moving->part, record);
}

/* The hash of a value as the server shows it. */
static uint64_t value_hash(struct moving *moving,
                           const struct cli_deno_entry *entry)
{
    static const enum kx_encoding ENCODINGS[] = {[CLI_DENO_V8] = KX_V8,
                                                 [CLI_DENO_LE64] = KX_LE64,
                                                 [CLI_DENO_BYTES] = KX_BYTES};
    struct kx_value value = {.encoding = ENCODINGS[entry->encoding],
                             .data = entry->value};
    kx_buffer_clear(&moving->json);
    kx_value_to_json(&value, &moving->json);
    return kx_hash(KX_HASH_START, kx_buffer_slice(&moving->json));
}

/* ---- Items -------------------------------------------------------------- */

/* Adds what the pass does with an entry: stores it, or deletes it if `entry` is
 * NULL. `here` is the versionstamp that it must have, NULL: there must be none.
 */
static void add_item(struct moving *moving, struct cli_pipeline_slot *slot,
                     const struct cli_deno_entry *entry, const char *here)
{
    struct kx_buffer *out = &slot->texts;
    struct cli_pipeline_item *item = &slot->items[slot->count++];
    *item = (struct cli_pipeline_item){
        .line = add_record(&moving->part, &moving->made),
        .removes = entry == NULL};
    set_key(moving, kx_buffer_slice(&moving->made.key));
    struct kx_slice key = kx_buffer_slice(&moving->json);
    item->key = out->size;
    item->key_size = key.size;
    kx_add_slice(out, key);
    item->check = out->size;
    if (here != NULL) {
        kx_add_byte(out, '"');
        kx_add(out, here, STAMP);
        kx_add_byte(out, '"');
    }
    item->check_size = out->size - item->check;
    item->mutation = out->size;
    kx_add_text(out, entry == NULL ? "{\"type\":\"delete\",\"key\":"
                                   : "{\"type\":\"set\",\"key\":");
    kx_add_slice(out, key);
    if (entry != NULL) {
        kx_add_text(out, ",\"typed\":");
        cli_deno_typed(entry, out);
    }
    kx_add_byte(out, '}');
    item->mutation_size = out->size - item->mutation;
}

static void make_record(struct moving *moving, struct kx_slice key,
                        const struct moved *old)
{
    struct moved *made = &moving->made;
    memcpy(made->here, UNKNOWN, STAMP);
    memcpy(made->before, old != NULL ? old->here : NONE, STAMP);
    memcpy(made->there, NONE, STAMP);
    made->hash = 0;
    kx_buffer_clear(&made->key);
    kx_add_slice(&made->key, key);
}

/* Stores the next entry of the source; old is its record, or NULL. */
static void store_entry(struct moving *moving, struct cli_pipeline_slot *slot,
                        const struct moved *old)
{
    const struct cli_deno_entry *entry = &moving->next.entry;
    make_record(moving, entry->key, old);
    memcpy(moving->made.there, moving->next.stamp, STAMP);
    if (moving->part.fd >= 0)
        moving->made.hash = value_hash(moving, entry);
    add_item(moving, slot, entry, old != NULL ? old->here : NULL);
}

/* Takes the next entry of the source; old is its record, or NULL. */
static void take_entry(struct moving *moving, struct cli_pipeline_slot *slot,
                       const struct moved *old)
{
    const struct cli_deno_entry *entry = &moving->next.entry;
    bool fits = cli_deno_fits(&moving->deno, entry);
    if (fits)
        cli_deno_count(&moving->deno, entry->key);
    if (old != NULL && (!fits || same_stamp(moving->next.stamp, old->there))) {
        moving->unchanged += fits;
        copy_record(moving, old);
    } else if (fits) {
        store_entry(moving, slot, old);
    }
}

/* Takes a record whose entry is gone from the source. Without checks a deletion
 * could hit what somebody else has stored, so it is left for the second pass.
 */
static void take_gone(struct moving *moving, struct cli_pipeline_slot *slot,
                      const struct moved *old)
{
    if (moving->cli->overwrite) {
        copy_record(moving, old);
        return;
    }
    make_record(moving, kx_buffer_slice(&old->key), old);
    add_item(moving, slot, NULL, old->here);
}

/* Less than 0: the next key is one of the source alone; 0: it is in the records
 * as well; more: in the records alone. */
static int compare_next(const struct moving *moving)
{
    const struct kx_buffer *key = &moving->last.key;
    if (moving->next.found && key->size > 0)
        return kx_compare(moving->next.entry.key, kx_buffer_slice(key));
    return moving->next.found ? -1 : 1;
}

static void set_status(struct moving *moving, int status)
{
    if (moving->pipeline.status == CLI_OK)
        moving->pipeline.status = status;
}

/* Takes what is next in key order, of the source, of the records, or of both.
 */
static void take_next(struct moving *moving, struct cli_pipeline_slot *slot)
{
    struct moved *old = &moving->last;
    int order = compare_next(moving);
    if (order > 0)
        take_gone(moving, slot, old);
    else
        take_entry(moving, slot, order == 0 ? old : NULL);
    if (order >= 0)
        next_own_record(&moving->old, old);
    if (order <= 0)
        set_status(moving, cli_connect_next(&moving->source, &moving->next));
    if (moving->old.damaged)
        set_status(moving, CLI_ERROR);
}

/* ---- Batches ------------------------------------------------------------ */

static bool is_stored(const struct cli_pipeline_item *item)
{
    return !item->dropped && !item->removes;
}

static void count_item(struct moving *moving,
                       const struct cli_pipeline_item *item)
{
    if (is_stored(item))
        moving->stored++;
    else if (!item->dropped)
        moving->deleted++;
    else if (item->check_size == 0)
        moving->kept++;
    else
        moving->changed++;
}

static void fail_to_write(struct moving *moving)
{
    set_status(moving, cli_fail("%s: %s", moving->part_path, strerror(errno)));
}

/* The pipeline's function: fills in the versionstamps of a batch. */
static void take_stored(void *target, const struct cli_pipeline_slot *slot,
                        struct kx_slice stamp)
{
    struct moving *moving = target;
    bool written = true;
    for (size_t i = 0; i < slot->count; i++) {
        const struct cli_pipeline_item *item = &slot->items[i];
        count_item(moving, item);
        if (moving->part.fd >= 0)
            written &= write_at(moving->part.fd,
                                is_stored(item) ? stamp : kx_slice(NONE, STAMP),
                                item->line + AT_HERE);
    }
    if (!written)
        fail_to_write(moving);
}

static void send_batch(struct moving *moving, struct cli_pipeline_slot *slot)
{
    struct cli_pipeline *pipeline = &moving->pipeline;
    if (!flush_records(&moving->part))
        fail_to_write(moving);
    if (pipeline->status == CLI_OK)
        cli_pipeline_send(pipeline, slot);
    cli_pipeline_poll(pipeline);
}

static bool is_full(const struct moving *moving,
                    const struct cli_pipeline_slot *slot)
{
    return slot->count >= moving->cli->batch ||
           slot->texts.size >= CLI_PIPELINE_BYTES_MAX ||
           moving->part.pending.size >= PENDING_MAX;
}

static bool has_more(const struct moving *moving)
{
    return moving->next.found || moving->last.key.size > 0;
}

static bool goes_on(const struct moving *moving)
{
    return moving->pipeline.status == CLI_OK && !cli_interrupted() &&
           has_more(moving);
}

/* Sends the last batch, or NULL, and waits for the answers. */
static void end_batches(struct moving *moving, struct cli_pipeline_slot *last)
{
    struct cli_pipeline *pipeline = &moving->pipeline;
    if (last != NULL)
        send_batch(moving, last);
    while (cli_pipeline_busy(pipeline))
        cli_pipeline_wait(pipeline, -1);
    if (pipeline->status == CLI_OK && has_more(moving)) {
        cli_fail("interrupted");
        pipeline->status = CLI_INTERRUPTED;
    }
}

static void move_entries(struct moving *moving)
{
    static const struct cli_pipeline_place NOWHERE;
    struct cli_pipeline *pipeline = &moving->pipeline;
    struct cli_pipeline_slot *slot = NULL;
    while (goes_on(moving)) {
        slot = cli_pipeline_filling(pipeline, &NOWHERE);
        if (slot == NULL) {
            cli_pipeline_wait(pipeline, -1);
            continue;
        }
        take_next(moving, slot);
        if (is_full(moving, slot)) {
            send_batch(moving, slot);
            slot = NULL;
        }
        cli_progress_show(&moving->progress, moving->stored, 0, 0);
    }
    end_batches(moving, slot);
}

/* ==== What an earlier run has left ====================================== */

/* True if the entry that was found here has the value that was sent. */
static bool was_sent(const struct moved *record, struct kx_slice found)
{
    struct kx_slice value;
    return !same_stamp(record->there, NONE) &&
           (cli_json_member(found, "typed", &value) ||
            cli_json_member(found, "value", &value)) &&
           kx_hash(KX_HASH_START, value) == record->hash;
}

/* Decides about a record without an answer, by what was found here: the entry
 * is ours if it has the value that was sent, or is still what an earlier pass
 * has stored. That one is compared with the source again. */
static void decide(struct moved *record, struct kx_slice found)
{
    struct kx_slice stamp;
    const char *here = NONE;
    if (cli_json_member(found, "versionstamp", &stamp) &&
        stamp.size == STAMP + 2)
        here = (const char *)stamp.data + 1;
    if (!was_sent(record, found)) {
        memcpy(record->there, NONE, STAMP);
        if (!same_stamp(here, record->before))
            here = NONE;
    }
    memcpy(record->here, here, STAMP);
}

/* Records of one request, and where they are written. */
struct look_up {
    struct moved records[LOOK_UP_MAX];
    size_t count;
    struct record_writer out;
};

static void begin_look_up(struct look_up *group, const char *path,
                          const void *memory)
{
    *group = (struct look_up){.count = 0};
    group->out.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    kx_buffer_init(&group->out.pending, memory);
    for (size_t i = 0; i < LOOK_UP_MAX; i++)
        kx_buffer_init(&group->records[i].key, memory);
}

/* Reads the entries of the group. */
static int ask_entries(struct moving *moving, const struct look_up *group,
                       struct cli_reply *reply)
{
    struct kx_buffer body;
    kx_buffer_init(&body, moving->cli->memory);
    for (size_t i = 0; i < group->count; i++) {
        set_key(moving, kx_buffer_slice(&group->records[i].key));
        kx_add_text(&body, i == 0 ? "{\"keys\":[" : ",");
        kx_add_slice(&body, kx_buffer_slice(&moving->json));
    }
    kx_add_text(&body, "]}");
    struct cli_call call = {.method = "POST",
                            .path = kx_text("/get"),
                            .body = kx_buffer_slice(&body)};
    kx_buffer_init(&reply->body, moving->cli->memory);
    int status = body.failed ? cli_fail("memory ran out")
                             : cli_ask(moving->cli, &call, reply);
    kx_buffer_free(&body);
    return status;
}

/* Decides about the records by an answer. False if it has too few entries. */
static bool decide_all(struct look_up *group, struct kx_slice answer)
{
    struct kx_slice list, none, found;
    struct kx_json_iter iter;
    size_t count = 0;
    if (!cli_json_member(answer, "entries", &list) ||
        !kx_json_iterate(list, &iter))
        return false;
    while (count < group->count && kx_json_next(&iter, &none, &found))
        decide(&group->records[count++], found);
    return count == group->count;
}

/* Decides about the records of the group, writes them and empties it. */
static int look_up(struct moving *moving, struct look_up *group)
{
    struct cli_reply reply;
    if (group->count == 0)
        return CLI_OK;
    int status = ask_entries(moving, group, &reply);
    if (status == CLI_OK && !decide_all(group, kx_buffer_slice(&reply.body)))
        status = cli_fail("the server's answer has too few entries");
    kx_buffer_free(&reply.body);
    for (size_t i = 0; i < group->count; i++)
        add_record(&group->out, &group->records[i]);
    group->count = 0;
    return status;
}

/* Writes a record of the part, or adds it to the group if it has no answer. */
static int keep_record(struct moving *moving, struct look_up *group,
                       const struct moved *record)
{
    int status = CLI_OK;
    bool known = !same_stamp(record->here, UNKNOWN);
    if (known || group->count == LOOK_UP_MAX)
        status = look_up(moving, group);
    if (known) {
        add_record(&group->out, record);
        return status;
    }
    struct moved *kept = &group->records[group->count++];
    struct kx_buffer key = kept->key;
    *kept = *record;
    kept->key = key;
    kx_buffer_clear(&kept->key);
    kx_add_slice(&kept->key, kx_buffer_slice(&record->key));
    return status;
}

/* Writes the records of the part. Sets *end_out to the key of the last one. */
static int keep_records(struct moving *moving, struct record_reader *part,
                        struct look_up *group, struct kx_buffer *end_out)
{
    struct moved *record = &moving->made;
    int status = CLI_OK;
    next_own_record(part, record);
    while (status == CLI_OK && record->key.size > 0) {
        kx_buffer_clear(end_out);
        kx_add_slice(end_out, kx_buffer_slice(&record->key));
        status = keep_record(moving, group, record);
        next_own_record(part, record);
    }
    if (part->damaged)
        return CLI_ERROR;
    return status == CLI_OK ? look_up(moving, group) : status;
}

/* Writes the records of the part to a new state file, and after them the
 * remaining records of the last pass. */
static int join_records(struct moving *moving, struct record_reader *part,
                        struct look_up *group)
{
    struct kx_buffer end;
    struct moved *record = &moving->last;
    struct record_reader *old = &moving->old;
    kx_buffer_init(&end, moving->cli->memory);
    kx_add_text(&group->out.pending, moving->header);
    int status = keep_records(moving, part, group, &end);
    if (status != CLI_OK)
        return status;
    for (next_own_record(old, record); record->key.size > 0;
         next_own_record(old, record))
        if (kx_compare(kx_buffer_slice(&record->key), kx_buffer_slice(&end)) >
            0)
            add_record(&group->out, record);
    kx_buffer_free(&end);
    return old->damaged ? CLI_ERROR : CLI_OK;
}

static int replace_state(struct moving *moving, struct record_reader *part)
{
    const char *path = moving->cli->state;
    char name[PATH_BYTES_MAX + 8];
    struct look_up group;
    snprintf(name, sizeof name, "%s.new", path);
    begin_look_up(&group, name, moving->cli->memory);
    if (group.out.fd < 0)
        return cli_fail("%s: %s", name, strerror(errno));
    int status = join_records(moving, part, &group);
    if (status == CLI_OK &&
        (!flush_records(&group.out) || fsync(group.out.fd) != 0 ||
         rename(name, path) != 0))
        status = cli_fail("%s: %s", name, strerror(errno));
    close(group.out.fd);
    return status;
}

/* Finds where the part continues: at its first record without an answer, or at
 * its end. Sets *at_out to the offset, and moving->after to the key before it.
 * Returns true if there is such a record. */
static bool find_place(struct moving *moving, struct record_reader *part,
                       uint64_t *at_out)
{
    struct moved *record = &moving->made;
    *at_out = part->offset;
    for (next_record(part, record); record->key.size > 0;
         next_record(part, record)) {
        if (same_stamp(record->here, UNKNOWN))
            return true;
        *at_out = part->offset;
        kx_buffer_clear(&moving->after);
        kx_add_slice(&moving->after, kx_buffer_slice(&record->key));
    }
    return false;
}

/* Opens the part for the records of this pass, at `at`. */
static int open_part(struct moving *moving, uint64_t at)
{
    const struct cli *cli = moving->cli;
    struct record_writer *part = &moving->part;
    part->fd = open(moving->part_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (part->fd >= 0 && flock(part->fd, LOCK_EX | LOCK_NB) != 0)
        return cli_fail("%s is in use by another import", cli->state);
    if (part->fd < 0 || ftruncate(part->fd, (off_t)at) != 0)
        return cli_fail("%s: %s", moving->part_path, strerror(errno));
    part->size = at;
    if (at == 0)
        kx_add_text(&part->pending, moving->header);
    return CLI_OK;
}

/* Makes a state file of the part, in which all records have an answer. */
static int decide_part(struct moving *moving)
{
    struct record_reader part;
    int status = open_records(&part, moving->part_path, moving->header)
                     ? replace_state(moving, &part)
                     : CLI_ERROR;
    close_records(&part);
    return status;
}

/* Continues the pass that an earlier run has begun. */
static int continue_part(struct moving *moving)
{
    struct record_reader part;
    uint64_t at = 0;
    bool unanswered = false;
    bool good = open_records(&part, moving->part_path, moving->header);
    if (good)
        unanswered = find_place(moving, &part, &at);
    close_records(&part);
    if (!good || part.damaged)
        return CLI_ERROR;
    int status = unanswered ? decide_part(moving) : CLI_OK;
    return status == CLI_OK ? open_part(moving, at) : status;
}

/* ==== The command ======================================================= */

static bool exists(const char *path)
{
    return path != NULL && access(path, F_OK) == 0;
}

/* Opens the records that the pass writes. */
static int begin_part(struct moving *moving)
{
    if (moving->cli->dry_run)
        return CLI_OK;
    return exists(moving->part_path) ? continue_part(moving)
                                     : open_part(moving, 0);
}

/* Opens the records that the pass compares the source with, after the key to
 * which an earlier run has come. */
static int begin_old(struct moving *moving)
{
    struct moved *last = &moving->last;
    if (!open_records(&moving->old, moving->cli->state, moving->header))
        return CLI_ERROR;
    do
        next_own_record(&moving->old, last);
    while (last->key.size > 0 &&
           kx_compare(kx_buffer_slice(&last->key),
                      kx_buffer_slice(&moving->after)) <= 0);
    return moving->old.damaged ? CLI_ERROR : CLI_OK;
}

static int begin_records(struct moving *moving)
{
    const char *state = moving->cli->state;
    moving->part.fd = -1;
    kx_buffer_clear(&moving->part.pending);
    kx_buffer_clear(&moving->after);
    kx_buffer_clear(&moving->last.key);
    if (state == NULL)
        return CLI_OK;
    if (!open_records(&moving->old, state, moving->header))
        return CLI_ERROR;
    int status = begin_part(moving);
    if (status != CLI_OK)
        return status;
    close_records(&moving->old); /* the state may have been replaced */
    return begin_old(moving);
}

/* Makes the records of a complete pass the state. */
static int end_records(struct moving *moving, int status)
{
    struct record_writer *part = &moving->part;
    close_records(&moving->old);
    moving->old = (struct record_reader){.file = NULL};
    if (part->fd < 0)
        return status;
    bool written = flush_records(part);
    if (status == CLI_OK &&
        (!written || fsync(part->fd) != 0 ||
         rename(moving->part_path, moving->cli->state) != 0))
        status = cli_fail("%s: %s", moving->part_path, strerror(errno));
    close(part->fd);
    return status;
}

static void report_head(const struct moving *moving)
{
    bool dry = moving->cli->dry_run;
    double seconds = cli_progress_seconds(&moving->progress);
    const char *would = dry ? "would import" : "imported";
    if (moving->second)
        cli_note("second pass in %.1f s: %s %" PRIu64 " entries, %" PRIu64
                 " %s, %" PRIu64 " unchanged",
                 seconds, would, moving->stored, moving->deleted,
                 dry ? "to delete" : "deleted", moving->unchanged);
    else
        cli_note("%s %" PRIu64 " entries in %.1f s", would, moving->stored,
                 seconds);
    if (!moving->second && moving->unchanged > 0)
        cli_note("%" PRIu64 " entries were imported by an earlier run",
                 moving->unchanged);
}

static void report_pass(const struct moving *moving)
{
    report_head(moving);
    if (moving->kept > 0)
        cli_note("%" PRIu64 " existed already%s", moving->kept,
                 moving->second ? "" : " (--overwrite replaces them)");
    if (moving->changed > 0)
        cli_note("%" PRIu64 " entries were changed or deleted here since they "
                 "were imported, and stay so",
                 moving->changed);
    if (moving->stored > 0 && !moving->cli->discovers)
        cli_note("%" PRIu64 " entries were stored without an expiry, which KV "
                 "Connect does not tell",
                 moving->stored);
}

/* Prints what to do next. */
static void report_rest(const struct moving *moving, int status)
{
    const struct cli *cli = moving->cli;
    if (status != CLI_OK && cli->state != NULL)
        cli_note("  to continue, run the same command again");
    else if (status != CLI_OK)
        cli_note("  to continue, run the same command again, which leaves "
                 "stored entries as they are; with --state FILE it continues "
                 "where it ended");
    else if (cli->state != NULL && !cli->finish)
        cli_note("at the switch: stop what writes to the old store, then run "
                 "this command with --finish");
}

static int run_pass(struct moving *moving, bool second)
{
    struct cli *cli = moving->cli;
    moving->second = second;
    moving->stored = moving->deleted = moving->unchanged = 0;
    moving->kept = moving->changed = 0;
    moving->deno = (struct cli_deno){.memory = cli->memory,
                                     .prefix_size = moving->prefix.size,
                                     .names_next = !cli->discovers};
    int status = begin_records(moving);
    if (status != CLI_OK) {
        end_records(moving, status);
        return status;
    }
    if (!cli_pipeline_begin(&moving->pipeline, cli, cli->jobs))
        return end_records(moving, cli_fail("memory ran out"));
    moving->pipeline.stored_fn = take_stored;
    moving->pipeline.target = moving;
    cli_progress_begin(&moving->progress, "imported");
    cli_connect_after(&moving->source, kx_buffer_slice(&moving->after));
    moving->pipeline.status = cli_connect_next(&moving->source, &moving->next);
    move_entries(moving);
    cli_progress_clear(&moving->progress);
    status = end_records(moving, moving->pipeline.status);
    cli_pipeline_end(&moving->pipeline);
    talloc_free(moving->pipeline.slots);
    report_pass(moving);
    cli_deno_report(&moving->deno, cli->from);
    report_rest(moving, status);
    if (status == CLI_OK && moving->deno.left_out > 0 && !cli->discovers)
        status = CLI_ERROR;
    cli_deno_end(&moving->deno);
    return status;
}

/* Checks that the command fits to what the state file shows. */
static int check_state(const struct cli *cli, bool begun, bool complete)
{
    if (cli->dry_run && begun)
        return cli_fail("%s has an import that is not complete; continue it "
                        "without --dry-run first",
                        cli->state);
    if (cli->finish && !begun && !complete)
        return cli_fail("%s is not the state file of an import; the import "
                        "without --finish makes it",
                        cli->state);
    return CLI_OK;
}

/* Runs the passes that are due. */
static int run_passes(struct moving *moving)
{
    const struct cli *cli = moving->cli;
    bool begun = exists(moving->part_path);
    bool complete = exists(cli->state) && !begun;
    int status = check_state(cli, begun, complete);
    if (status == CLI_OK && !complete)
        status = run_pass(moving, false);
    if (status == CLI_OK && cli->finish)
        return run_pass(moving, true);
    if (complete)
        cli_note("the import is complete; --finish stores what has changed "
                 "since");
    return status;
}

static bool make_header(struct moving *moving)
{
    const struct cli *cli = moving->cli;
    kx_buffer_clear(&moving->json);
    if (moving->prefix.size > 0)
        kx_key_to_json(kx_buffer_slice(&moving->prefix), &moving->json);
    int size = snprintf(moving->header, sizeof moving->header, "%s%s %.*s\n",
                        HEADER, cli->from, (int)moving->json.size,
                        (const char *)moving->json.data);
    int path = cli->state == NULL
                   ? 0
                   : snprintf(moving->part_path, sizeof moving->part_path,
                              "%s.part", cli->state);
    return (size < (int)sizeof moving->header && path < PATH_BYTES_MAX) ||
           cli_fail("--prefix or --state is too long") == CLI_OK;
}

static void begin_moving(struct moving *moving, struct cli *cli)
{
    void *memory = cli->memory;
    *moving = (struct moving){.cli = cli};
    kx_buffer_init(&moving->prefix, memory);
    kx_buffer_init(&moving->key, memory);
    kx_buffer_init(&moving->json, memory);
    kx_buffer_init(&moving->after, memory);
    kx_buffer_init(&moving->last.key, memory);
    kx_buffer_init(&moving->made.key, memory);
    kx_buffer_init(&moving->part.pending, memory);
    moving->part.fd = -1;
}

int cli_move(struct cli *cli)
{
    struct moving *moving = talloc_zero(cli->memory, struct moving);
    if (moving == NULL)
        return cli_fail("memory ran out");
    begin_moving(moving, cli);
    if (cli->prefix != NULL &&
        !cli_read_prefix(cli, cli->prefix, &moving->prefix))
        return CLI_MISUSE;
    if (!make_header(moving))
        return CLI_ERROR;
    cli_interrupt_catch(SIGINT);
    int status = cli_connect_open(&moving->source, cli);
    if (status == CLI_OK)
        status = run_passes(moving);
    cli_connect_end(&moving->source);
    return status;
}
