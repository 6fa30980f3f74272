/* See by_example.h. */
#include "eval/by_example.h"

#include <math.h>

void lh_by_example_add(lh_by_example *examples, const lh_sums *sequence_sums, int count) {
    if (examples->sums == NULL) return;
    for (int i = 0; i < count; i++, examples->count++)
        if (examples->count < LH_MAX_LISTED_EXAMPLES) examples->sums[examples->count] = sequence_sums[i];
}

void lh_by_example_write(const lh_by_example *examples, lh_json *line) {
    const lh_sums *sums = examples->sums;
    lh_json json;
    if (sums == NULL || examples->count > LH_MAX_LISTED_EXAMPLES) return;
    for (int i = 0; i < examples->count; i++)
        if (!isfinite(sums[i].uncertainty)) return;
    lh_json_raw(line, "by_example", "");
    lh_json_begin(&json, line->out);
    for (int key = 0; key < 3; key++) {
        lh_json_raw(&json, (const char *const[]){"uncertainty", "correct", "counted"}[key], "[");
        for (int i = 0; i < examples->count; i++) {
            const double values[] = {sums[i].uncertainty, (double)sums[i].correct, (double)sums[i].counted};
            fprintf(json.out, "%s%.9g", i > 0 ? "," : "", values[key]);
        }
        putc(']', json.out);
    }
    lh_json_end(&json);
}
