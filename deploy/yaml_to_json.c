/* Writes a YAML file as JSON: the build makes the served openapi.json from
 * openapi.yaml with it.
 *
 *   yaml_to_json FILE.yaml >FILE.json
 *
 * A plain scalar is null, true, false or a number if it is one in JSON, and a
 * string otherwise (the JSON schema of YAML 1.2.2, 10.2): no yes, on or dates.
 * Numbers keep their text. Aliases are expanded. Tags, merge keys, empty
 * values, repeated keys, keys that are not scalars and a second document are
 * errors. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

/* Nesting beyond this is a cycle of aliases, or a mistake. */
enum { DEPTH_MAX = 100 };

static const char *file_name;

__attribute__((noreturn, format(printf, 2, 3))) static void
fail(yaml_mark_t mark, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s:%zu:%zu: ", file_name, mark.line + 1, mark.column + 1);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Is the text a number of JSON (RFC 8259, section 6)? */
static bool is_number(const char *text)
{
    const char *at = text + (*text == '-');
    const char *digits = at;
    at = skip_digits(at);
    if (at == digits || (*digits == '0' && at > digits + 1))
        return false;
    if (*at == '.') {
        digits = ++at;
        at = skip_digits(at);
        if (at == digits)
            return false;
    }
    if (*at == 'e' || *at == 'E') {
        at += at[1] == '+' || at[1] == '-' ? 2 : 1;
        digits = at;
        at = skip_digits(at);
        if (at == digits)
            return false;
    }
    return *at == '\0';
}

static const char *scalar_text(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

static void write_string(const yaml_node_t *node)
{
    const char *text = scalar_text(node);
    putchar('"');
    for (size_t i = 0; i < node->data.scalar.length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '"' || byte == '\\')
            printf("\\%c", byte);
        else if (byte == '\n')
            fputs("\\n", stdout);
        else if (byte < 0x20)
            printf("\\u%04x", byte);
        else
            putchar(byte);
    }
    putchar('"');
}

static void write_scalar(const yaml_node_t *node)
{
    const char *text = scalar_text(node);
    if (strcmp((const char *)node->tag, YAML_STR_TAG) != 0)
        fail(node->start_mark, "the tag %s is not supported",
             (const char *)node->tag);
    if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        write_string(node);
    else if (*text == '\0')
        fail(node->start_mark,
             "an empty value must be written as null or \"\"");
    else if (strcmp(text, "null") == 0 || strcmp(text, "true") == 0 ||
             strcmp(text, "false") == 0 || is_number(text))
        fputs(text, stdout);
    else
        write_string(node);
}

/* Fails unless the key of the pair is a scalar that no earlier pair has. */
static void check_key(yaml_document_t *document, const yaml_node_t *mapping,
                      const yaml_node_pair_t *pair)
{
    const yaml_node_t *key = yaml_document_get_node(document, pair->key);
    if (key->type != YAML_SCALAR_NODE)
        fail(key->start_mark, "a key must be a scalar");
    if (strcmp(scalar_text(key), "<<") == 0)
        fail(key->start_mark, "merge keys are not supported");
    for (const yaml_node_pair_t *other = mapping->data.mapping.pairs.start;
         other < pair; other++) {
        const yaml_node_t *earlier =
            yaml_document_get_node(document, other->key);
        if (strcmp(scalar_text(earlier), scalar_text(key)) == 0)
            fail(key->start_mark, "the key \"%s\" is repeated",
                 scalar_text(key));
    }
}

static void write_node(yaml_document_t *document, int id, int depth);

static void write_mapping(yaml_document_t *document, const yaml_node_t *node,
                          int depth)
{
    const yaml_node_pair_t *first = node->data.mapping.pairs.start;
    putchar('{');
    for (const yaml_node_pair_t *pair = first;
         pair < node->data.mapping.pairs.top; pair++) {
        check_key(document, node, pair);
        if (pair > first)
            putchar(',');
        write_string(yaml_document_get_node(document, pair->key));
        putchar(':');
        write_node(document, pair->value, depth);
    }
    putchar('}');
}

static void write_sequence(yaml_document_t *document, const yaml_node_t *node,
                           int depth)
{
    const yaml_node_item_t *first = node->data.sequence.items.start;
    putchar('[');
    for (const yaml_node_item_t *item = first;
         item < node->data.sequence.items.top; item++) {
        if (item > first)
            putchar(',');
        write_node(document, *item, depth);
    }
    putchar(']');
}

static void write_node(yaml_document_t *document, int id, int depth)
{
    const yaml_node_t *node = yaml_document_get_node(document, id);
    if (depth == DEPTH_MAX)
        fail(node->start_mark, "nested deeper than %d", DEPTH_MAX);
    if (node->type == YAML_MAPPING_NODE)
        write_mapping(document, node, depth + 1);
    else if (node->type == YAML_SEQUENCE_NODE)
        write_sequence(document, node, depth + 1);
    else
        write_scalar(node);
}

/* Loads the next document, and returns whether there was one. */
static bool load(yaml_parser_t *parser, yaml_document_t *document)
{
    if (!yaml_parser_load(parser, document))
        fail(parser->problem_mark, "%s",
             parser->problem ? parser->problem : "cannot be read");
    return yaml_document_get_root_node(document) != NULL;
}

int main(int count, char **arguments)
{
    yaml_parser_t parser;
    yaml_document_t document;
    if (count != 2) {
        fputs("usage: yaml_to_json FILE.yaml\n", stderr);
        return 2;
    }
    file_name = arguments[1];
    FILE *file = fopen(file_name, "rb");
    if (!file || !yaml_parser_initialize(&parser)) {
        fprintf(stderr, "%s: %s\n", file_name, strerror(errno));
        return 1;
    }
    yaml_parser_set_input_file(&parser, file);
    if (!load(&parser, &document))
        fail(parser.mark, "there is no document");
    write_node(&document, 1, 0);
    putchar('\n');
    yaml_document_delete(&document);
    if (load(&parser, &document))
        fail(parser.mark, "there is a second document");
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    fclose(file);
    if (fflush(stdout) == 0)
        return 0;
    perror("standard output");
    return 1;
}
