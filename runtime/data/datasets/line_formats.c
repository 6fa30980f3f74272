/* See line_formats.h. */
#define _GNU_SOURCE /* memmem */
#include "data/datasets/line_formats.h"

#include <stdio.h>
#include <string.h>

static const char IN[] = "IN:", OUT[] = "OUT:";

/* Consecutive characters of a line. */
typedef struct span {
    const char *text;
    size_t bytes;
} span;

static bool is_blank(char c) { return c == ' ' || c == '\r'; }

/* Removes blanks at both ends. */
static span trim(span p) {
    while (p.bytes > 0 && is_blank(p.text[0])) p = (span){p.text + 1, p.bytes - 1};
    while (p.bytes > 0 && is_blank(p.text[p.bytes - 1])) p.bytes--;
    return p;
}

/* The text up to the next tab or the end; moves *unread past the tab. unread->text is NULL after the last column. */
static span take_column(span *unread) {
    const char *tab = memchr(unread->text, '\t', unread->bytes);
    span column = {unread->text, tab != NULL ? (size_t)(tab - unread->text) : unread->bytes};
    *unread = tab != NULL ? (span){tab + 1, unread->bytes - column.bytes - 1} : (span){NULL, 0};
    return trim(column);
}

static bool equals(span p, const char *word) { return p.bytes == strlen(word) && memcmp(p.text, word, p.bytes) == 0; }

/* Sets the names of columns: from the first line, if it is a header; else they are input and target. */
static lh_status name_columns(lh_line_reader *reader, span line, const char *location, bool *is_header,
                              lh_error *error) {
    span unread = line, first = take_column(&unread);
    span second = unread.text != NULL ? take_column(&unread) : unread;
    *is_header =
        (equals(first, "input") && equals(second, "target")) || (equals(first, "target") && equals(second, "input"));
    reader->columns = 2;
    strcpy(reader->name[0], "input");
    strcpy(reader->name[1], "target");
    if (!*is_header) return LH_OK;
    reader->columns = 0;
    for (unread = line; unread.text != NULL; reader->columns++) {
        span name = take_column(&unread);
        if (reader->columns == LH_MAX_COLUMNS || name.bytes >= LH_COLUMN_NAME)
            return lh_fail(error, LH_ERR_INPUT, "%s: more than %d columns, or a name of more than %d bytes", location,
                           LH_MAX_COLUMNS, LH_COLUMN_NAME - 1);
        memcpy(reader->name[reader->columns], name.text, name.bytes);
        reader->name[reader->columns][name.bytes] = 0;
    }
    return LH_OK;
}

lh_status lh_line_reader_start(lh_line_reader *reader, const char *text, size_t bytes, const char *location,
                               bool *is_header, lh_error *error) {
    span line = trim((span){text, bytes});
    *is_header = false;
    if (line.bytes > 0 && line.text[0] == '{') reader->format = LH_LINES_JSON;
    else if (line.bytes >= strlen(IN) && memcmp(line.text, IN, strlen(IN)) == 0) reader->format = LH_LINES_SCAN;
    else if (memchr(line.text, '\t', line.bytes) != NULL) reader->format = LH_LINES_TABS;
    else
        return lh_fail(
            error, LH_ERR_INPUT,
            "%s: the line is not an example\n  expected: {\"input\":[...],\"target\":[...]}; or input and target "
            "separated by a tab; or IN: ... OUT: ... (docs/own-task.md)",
            location);
    return reader->format == LH_LINES_TABS ? name_columns(reader, line, location, is_header, error) : LH_OK;
}

/* The number of bytes of the UTF-8 character at the beginning of p. */
static size_t count_bytes(span p) {
    size_t bytes = 1;
    while (bytes < p.bytes && ((unsigned char)p.text[bytes] & 0xc0) == 0x80) bytes++;
    return bytes;
}

/* Appends a symbol to a list; false: the text is no UTF-8, or there is no memory. */
static bool append_symbol(json_t *list, span symbol) {
    return json_array_append_new(list, json_stringn(symbol.text, symbol.bytes)) == 0;
}

json_t *lh_split_symbols(const lh_alphabet *alphabet, const char *text, size_t bytes) {
    bool blank_is_symbol = lh_alphabet_has(alphabet, " ", 1);
    span unread = blank_is_symbol ? (span){text, bytes} : trim((span){text, bytes});
    bool has_words = !blank_is_symbol && memchr(unread.text, ' ', unread.bytes) != NULL;
    bool is_symbol = !has_words && lh_alphabet_has(alphabet, unread.text, unread.bytes), is_ok = true;
    json_t *list = json_array();
    while (list != NULL && is_ok && unread.bytes > 0) {
        const char *blank = has_words ? memchr(unread.text, ' ', unread.bytes) : NULL;
        size_t symbol_bytes = has_words || is_symbol ? unread.bytes : count_bytes(unread);
        if (blank != NULL) symbol_bytes = (size_t)(blank - unread.text);
        is_ok = append_symbol(list, (span){unread.text, symbol_bytes});
        unread = (span){unread.text + symbol_bytes, unread.bytes - symbol_bytes};
        if (has_words) unread = trim(unread);
    }
    if (is_ok) return list;
    json_decref(list);
    return NULL;
}

/* Reads a list of 0 and 1, with or without blanks, as a JSON list. Other characters become other numbers, which are
 * refused later. */
static json_t *read_mask(span text) {
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < text.bytes; i++)
        if (text.text[i] != ' ')
            json_array_append_new(list, json_integer(text.text[i] >= '0' ? text.text[i] - '0' : -1));
    return list;
}

/* Reads a column other than input, target, mask and positions: a number, or text. */
static json_t *read_value(span text) {
    char digits[24];
    size_t count = 0;
    while (count < text.bytes && text.text[count] >= '0' && text.text[count] <= '9') count++;
    if (count == 0 || count < text.bytes || count >= sizeof digits) return json_stringn(text.text, text.bytes);
    memcpy(digits, text.text, count);
    digits[count] = 0;
    long long value = 0;
    sscanf(digits, "%lld", &value);
    return json_integer(value);
}

/* Reads numbers separated by blanks as a JSON list; other words become texts, which are refused later. */
static json_t *read_numbers(span text) {
    json_t *list = json_array();
    for (span unread = trim(text); list != NULL && unread.bytes > 0;) {
        const char *blank = memchr(unread.text, ' ', unread.bytes);
        size_t bytes = blank != NULL ? (size_t)(blank - unread.text) : unread.bytes;
        json_array_append_new(list, read_value((span){unread.text, bytes}));
        unread = trim((span){unread.text + bytes, unread.bytes - bytes});
    }
    return list;
}

/* Sets a key of the object from the text of a column; false: no UTF-8, or no memory. */
static bool set_column(json_t *object, const char *name, span text, const lh_alphabet *input,
                       const lh_alphabet *output) {
    json_t *value = strcmp(name, "input") == 0       ? lh_split_symbols(input, text.text, text.bytes)
                    : strcmp(name, "target") == 0    ? lh_split_symbols(output, text.text, text.bytes)
                    : strcmp(name, "mask") == 0      ? read_mask(text)
                    : strcmp(name, "positions") == 0 ? read_numbers(text)
                                                     : read_value(text);
    return json_object_set_new(object, name, value) == 0;
}

/* Splits a line of SCAN into input and target. */
static lh_status split_scan(span line, const char *location, span columns[2], lh_error *error) {
    const char *mark = memmem(line.text, line.bytes, OUT, strlen(OUT));
    if (line.bytes < strlen(IN) || memcmp(line.text, IN, strlen(IN)) != 0 || mark == NULL)
        return lh_fail(error, LH_ERR_INPUT, "%s: %s is missing\n  expected: IN: ... OUT: ..., as in the first line",
                       location, mark == NULL ? OUT : IN);
    const char *output = mark + strlen(OUT);
    columns[0] = trim((span){line.text + strlen(IN), (size_t)(mark - line.text) - strlen(IN)});
    columns[1] = trim((span){output, line.bytes - (size_t)(output - line.text)});
    return LH_OK;
}

/* Splits a line into the columns of the file. */
static lh_status split_tabs(const lh_line_reader *reader, span line, const char *location, span *columns,
                            lh_error *error) {
    int count = 0;
    for (span unread = line; unread.text != NULL; count++) {
        span column = take_column(&unread);
        if (count < reader->columns) columns[count] = column;
    }
    if (count == reader->columns) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT,
                   "%s: found %d columns\n  expected: %d, separated by tabs: %s, %s%s (docs/own-task.md)", location,
                   count, reader->columns, reader->name[0], reader->name[1], reader->columns > 2 ? ", ..." : "");
}

lh_status lh_line_reader_read(const lh_line_reader *reader, const char *text, size_t bytes, const lh_alphabet *input,
                              const lh_alphabet *output, const char *location, json_t **object, lh_error *error) {
    static const char *const scan_names[] = {"input", "target"};
    span columns[LH_MAX_COLUMNS], line = {text, bytes};
    bool is_scan = reader->format == LH_LINES_SCAN;
    int count = is_scan ? 2 : reader->columns;
    if (line.bytes > 0 && line.text[line.bytes - 1] == '\r') line.bytes--;
    lh_status status =
        is_scan ? split_scan(trim(line), location, columns, error) : split_tabs(reader, line, location, columns, error);
    if (status != LH_OK) return status;
    bool is_ok = (*object = json_object()) != NULL;
    for (int i = 0; is_ok && i < count; i++)
        is_ok = set_column(*object, is_scan ? scan_names[i] : reader->name[i], columns[i], input, output);
    if (is_ok) return LH_OK;
    json_decref(*object);
    return lh_fail(error, LH_ERR_INPUT, "%s: the text is not valid UTF-8", location);
}
