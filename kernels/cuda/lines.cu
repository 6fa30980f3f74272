/* A line of pairs that a mask opens: query i sees the key with index keys * S + first + step * i, of S keys.
 * If several lines open a pair, the largest of their values counts.
 * A query without an open key sees all keys; with a causal mask, the keys up to i. Source: Duan and Shi 2024. */
typedef struct opened_line {
    int step, keys, first; /* keys: 1 if the line is counted from the end of the keys, else 0 */
    real value;            /* added to the score of the pair */
} opened_line;

/* Index of the key that a line opens to query i; -1: none. causal: no query sees later keys. */
INLINE int find_line_key(const opened_line *line, const bool causal, int S, int i) {
    const int j = line->keys * S + line->first + line->step * i;
    return j >= 0 && j < S && !(causal && j > i) ? j : -1;
}

/* The first key after j that query i sees; S if there is none. corner: the first query sees the last key, with value
 * 0. */
INLINE int find_next_key(const opened_line *lines, const opened_line *lines_end, const bool corner, const bool causal,
                         int i, int j, int S) {
    int next = S;
    bool has_open_key = i == 0 && corner;
    if (has_open_key && j < S - 1) next = S - 1;
    for (const opened_line *line = lines; line < lines_end; line++) {
        const int key = find_line_key(line, causal, S, i);
        has_open_key = has_open_key || key >= 0;
        if (key > j && key < next) next = key;
    }
    return has_open_key ? next : (causal ? j < i : j + 1 < S) ? j + 1 : S;
}

/* The value that lines add to the score of a visible pair. */
INLINE real find_line_value(const opened_line *lines, const opened_line *lines_end, const bool corner,
                            const bool causal, int i, int j, int S) {
    real value = 0;
    bool found = false;
    if (i == 0 && j == S - 1 && corner) return 0;
    for (const opened_line *line = lines; line < lines_end; line++) {
        if (find_line_key(line, causal, S, i) != j) continue;
        if (!found || line->value > value) value = line->value;
        found = true;
    }
    return value;
}
