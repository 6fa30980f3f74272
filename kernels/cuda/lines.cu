/* A line of pairs that a mask opens: for query i the key keys * S + first + step * i, of S keys. If several lines open
 * a pair, the largest value counts; a query without an open key sees all keys, in a causal mask those up to itself.
 * Source: Duan and Shi 2024. */
typedef struct opened_line {
    int step, keys, first;
    real value; /* term added to the score of the pair */
} opened_line;

/* The key of S that a line opens to query i, or -1. causal: no query sees later keys. */
INLINE int key_of_line(const opened_line *line, const bool causal, int S, int i) {
    const int j = line->keys * S + line->first + line->step * i;
    return j >= 0 && j < S && !(causal && j > i) ? j : -1;
}

/* The first key after j that query i sees; S if there is none. corner: the first query sees the last key, with value
 * 0. */
INLINE int next_key_of_lines(const opened_line *lines, const opened_line *stop, const bool corner, const bool causal,
                             int i, int j, int S) {
    int next = S;
    bool open = i == 0 && corner;
    if (open && j < S - 1) next = S - 1;
    for (const opened_line *line = lines; line < stop; line++) {
        const int key = key_of_line(line, causal, S, i);
        open = open || key >= 0;
        if (key > j && key < next) next = key;
    }
    return open ? next : (causal ? j < i : j + 1 < S) ? j + 1 : S;
}

/* The term that lines add to the score of a visible pair. */
INLINE real value_of_lines(const opened_line *lines, const opened_line *stop, const bool corner, const bool causal,
                           int i, int j, int S) {
    real value = 0;
    bool found = false;
    if (i == 0 && j == S - 1 && corner) return 0;
    for (const opened_line *line = lines; line < stop; line++) {
        if (key_of_line(line, causal, S, i) != j) continue;
        if (!found || line->value > value) value = line->value;
        found = true;
    }
    return value;
}
