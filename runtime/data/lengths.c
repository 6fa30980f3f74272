/* See lengths.h. */
#include "data/lengths.h"

static int get_step(const lh_lengths *range) { return range->step > 0 ? range->step : 1; }

int lh_lengths_count(const lh_lengths *lengths) {
    if (lengths->list) return lengths->count;
    return lengths->last < lengths->first ? 0 : (lengths->last - lengths->first) / get_step(lengths) + 1;
}

int lh_lengths_get(const lh_lengths *lengths, int index) {
    if (lengths->list) return lengths->list[index];
    return lengths->first + index * get_step(lengths);
}

int lh_lengths_find_longest(const lh_lengths *lengths) {
    int max_length = 0;
    for (int i = 0, count = lh_lengths_count(lengths); i < count; i++) {
        int n = lh_lengths_get(lengths, i);
        if (n > max_length) max_length = n;
    }
    return max_length;
}

bool lh_lengths_have(const lh_lengths *lengths, int value) {
    if (lengths->list == NULL)
        return value >= lengths->first && value <= lengths->last && (value - lengths->first) % get_step(lengths) == 0;
    for (int i = 0; i < lengths->count; i++)
        if (lengths->list[i] == value) return true;
    return false;
}
