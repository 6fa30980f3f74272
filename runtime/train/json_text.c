/* See json_text.h. */
#include "train/json_text.h"

#include <math.h>
#include <stdlib.h>

char *lh_shortest(double x, char text[LH_NUMBER_TEXT]) {
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
    fputs(isfinite(value) ? lh_shortest(value, text) : "null", json->out);
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

void lh_json_quote(FILE *out, const char *text) {
    putc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c != 0; c++) {
        if (*c == '"' || *c == '\\') fprintf(out, "\\%c", *c);
        else if (*c < 0x20) fprintf(out, "\\u%04x", *c);
        else putc(*c, out);
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
