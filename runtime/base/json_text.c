/* See json_text.h. */
#include "base/json_text.h"

#include <math.h>
#include <stdlib.h>

char *lh_write_shortest(double x, char text[LH_NUMBER_TEXT]) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, LH_NUMBER_TEXT, "%.*g", digits, x);
        if (strtod(text, NULL) == x) break;
    }
    return text;
}

static void put_key(lh_json *json, const char *key) {
    fputs(json->separator, json->out);
    lh_json_quote(json->out, key);
    putc(':', json->out);
    json->separator = ",";
}

void lh_json_begin(lh_json *json, FILE *out) {
    json->out = out;
    json->separator = "";
    putc('{', out);
}

void lh_json_number(lh_json *json, const char *key, double value) {
    char text[LH_NUMBER_TEXT];
    put_key(json, key);
    fputs(isfinite(value) ? lh_write_shortest(value, text) : "null", json->out);
}

void lh_json_integer(lh_json *json, const char *key, int64_t value) {
    put_key(json, key);
    fprintf(json->out, "%lld", (long long)value);
}

void lh_json_string(lh_json *json, const char *key, const char *text) {
    put_key(json, key);
    lh_json_quote(json->out, text);
}

void lh_json_raw(lh_json *json, const char *key, const char *text) {
    put_key(json, key);
    fputs(text, json->out);
}

void lh_json_end(lh_json *json) { putc('}', json->out); }

void lh_json_end_line(lh_json *json) { fputs("}\n", json->out); }

/* The length in bytes of the UTF-8 character at c; 0: no valid character begins there. The second byte must lie between
 * min_second and max_second, which depend on the first. Source: the Unicode Standard, table 3-7. */
static int get_character_bytes(const unsigned char *c) {
    int continuation_bytes = c[0] >= 0xc2 && c[0] <= 0xdf   ? 1
                             : c[0] >> 4 == 0xe             ? 2
                             : c[0] >= 0xf0 && c[0] <= 0xf4 ? 3
                                                            : 0;
    int min_second = c[0] == 0xe0   ? 0xa0
                     : c[0] == 0xf0 ? 0x90
                                    : 0x80,
        max_second = c[0] == 0xed   ? 0x9f
                     : c[0] == 0xf4 ? 0x8f
                                    : 0xbf;
    if (c[0] < 0x80) return 1;
    if (continuation_bytes == 0 || c[1] < min_second || c[1] > max_second) return 0;
    for (int i = 2; i <= continuation_bytes; i++)
        if (c[i] >> 6 != 2) return 0;
    return 1 + continuation_bytes;
}

void lh_json_quote(FILE *out, const char *text) {
    int bytes;
    putc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c != 0; c += bytes > 0 ? bytes : 1) {
        bytes = get_character_bytes(c);
        if (*c == '"' || *c == '\\') fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || bytes == 0) fprintf(out, "\\u%04x", bytes > 0 ? *c : 0xfffdU);
        else fwrite(c, 1, (size_t)bytes, out);
    }
    putc('"', out);
}

lh_status lh_text_open(lh_text *text, lh_error *error) {
    text->text = NULL;
    text->bytes = 0;
    text->out = open_memstream(&text->text, &text->bytes);
    if (text->out == NULL) return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for a line of text");
    return LH_OK;
}

lh_status lh_text_close(lh_text *text, lh_error *error) {
    int failed = ferror(text->out);
    if (fclose(text->out) != 0 || failed || text->text == NULL) {
        free(text->text);
        text->text = NULL;
        return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for a line of text");
    }
    return LH_OK;
}
