/* See symbols.h. */
#include "data/symbols/symbols.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/json_text.h"

void lh_print_symbols(FILE *out, const char *const *names, int symbols, const uint16_t *tokens, const uint8_t *mask,
                      int count) {
    bool is_single_byte = true;
    for (int i = 0; i < symbols; i++) is_single_byte = is_single_byte && strlen(names[i]) == 1;
    for (int i = 0; i < count; i++) {
        const char *name = tokens[i] < symbols ? names[tokens[i]] : "?";
        bool is_counted = mask == NULL || mask[i] != 0;
        fprintf(out, "%s%s%s%s", is_single_byte || i == 0 ? "" : " ", is_counted ? "" : "(", name,
                is_counted ? "" : ")");
    }
}

lh_status lh_write_symbols(const char *const *names, int symbols, const uint16_t *tokens, const uint8_t *mask,
                           int count, char **text, lh_error *error) {
    lh_text stream;
    lh_status status = lh_text_open(&stream, error);
    if (status != LH_OK) return status;
    lh_print_symbols(stream.out, names, symbols, tokens, mask, count);
    status = lh_text_close(&stream, error);
    *text = stream.text;
    return status;
}

int lh_read_symbols(const char *const *names, int symbols, const char *text, uint16_t *tokens) {
    int count = 0;
    for (const char *cursor = text; *cursor != 0;) {
        size_t longest_name = 0;
        for (int i = 0; i < symbols; i++) {
            size_t bytes = strlen(names[i]);
            if (bytes > longest_name && strncmp(names[i], cursor, bytes) == 0) {
                longest_name = bytes;
                tokens[count] = (uint16_t)i;
            }
        }
        if (longest_name == 0 && isspace((unsigned char)*cursor)) {
            cursor++;
            continue;
        }
        if (longest_name == 0) return -1 - (int)(cursor - text);
        cursor += longest_name;
        count++;
    }
    return count;
}

void lh_list_symbols(const char *const *names, int symbols, char text[LH_SYMBOL_LIST]) {
    enum { MOST = 16 };
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < symbols && i < MOST && used < LH_SYMBOL_LIST; i++)
        used += (size_t)snprintf(text + used, LH_SYMBOL_LIST - used, "%s%.20s", i > 0 ? " " : "", names[i]);
    if (symbols > MOST && used < LH_SYMBOL_LIST) snprintf(text + used, LH_SYMBOL_LIST - used, " ...");
}
