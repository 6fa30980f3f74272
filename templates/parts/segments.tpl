% local real = precision == "float64" and f64 or f32
% local stop = seen.causal and "S && j <= i" or "S"
/* A line of pairs that a head's mask opens: for query i the key keys * S + first + step * i, of S keys. If several lines
 * open a pair, the largest value counts; a query without an open key sees all keys. Source: Duan and Shi 2024. */
typedef struct ${stem}line {
    int step, keys, first;
    real value; /* term added to the score of the pair */
} ${stem}line;
static ${device}const ${stem}line ${PREFIX}LINES[] = {
    {${line.step}, ${line.keys}, ${line.first}, ${real(line.value)}}, % for _, line in ipairs(seen.flat)
};
static ${device}const int ${PREFIX}FIRST_LINE[] = {${seen.starts_text}}; /* index of each head's first line, then the number of lines */
% if seen.any_corner then
static ${device}const bool ${PREFIX}CORNER[] = {${seen.corners_text}}; /* whether a head's first query sees the last key, with value 0 */
% end

/* The key of S that a line opens to query i, or -1. */
INLINE int ${stem}line_key(int e, int S, int i) {
    const int j = ${PREFIX}LINES[e].keys * S + ${PREFIX}LINES[e].first + ${PREFIX}LINES[e].step * i;
    return j >= 0 && j < ${stop} ? j : -1;
}
