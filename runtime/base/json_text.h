/* Writes JSON objects as text, key by key, in the order of the calls. Numbers are written with the fewest digits that
 * read back as the same double; NaN and infinities become null. JSON is read with jansson.
 */
#ifndef LONGHAND_JSON_TEXT_H
#define LONGHAND_JSON_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "longhand/status.h"

enum { LH_NUMBER_TEXT = 32 }; /* bytes of a buffer for any double */

/* Writes the shortest decimal that reads back as x, in the format of %g. Returns text. */
char *lh_write_shortest(double x, char text[LH_NUMBER_TEXT]);

typedef struct lh_json {
    FILE *out;
    const char *separator; /* text before the next key: "" or "," */
} lh_json;

void lh_json_begin(lh_json *json, FILE *out); /* writes { */
void lh_json_number(lh_json *json, const char *key, double value);
void lh_json_integer(lh_json *json, const char *key, int64_t value);
void lh_json_string(lh_json *json, const char *key, const char *text);
/* text: a value in JSON, or the beginning of a value ("" or "["); the caller writes the rest to json->out. */
void lh_json_raw(lh_json *json, const char *key, const char *text);
void lh_json_end(lh_json *json);      /* writes } */
void lh_json_end_line(lh_json *json); /* writes } and a newline */

/* Writes one string in quotes. Each byte that is not valid UTF-8 becomes U+FFFD; paths may contain such bytes. */
void lh_json_quote(FILE *out, const char *text);

/* A stream that writes to memory. After lh_text_close, text is the result, which the caller frees; NULL: an error. */
typedef struct lh_text {
    FILE *out;
    char *text; /* [bytes + 1], ends with 0 */
    size_t bytes;
} lh_text;

/* LH_ERR_ENVIRONMENT: out of memory. */
lh_status lh_text_open(lh_text *text, lh_error *error);
lh_status lh_text_close(lh_text *text, lh_error *error);

#endif
