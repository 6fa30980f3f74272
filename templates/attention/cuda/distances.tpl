% local lengths, room = cross and "int T, int S" or "int T", cross and "T, S" or "T"
% local toeplitz, per_distance = relative.toeplitz, relative.kind == "transformer_xl"
enum { ${PREFIX}RELATIVE_SETS = ${relative.sets} }; /* sets of distances in one pass${relative.sets_words} */

% if cross and toeplitz then
/* The vectors of distances of T queries and S keys: one for every query - key, from -(S - 1) on. */
INLINE int ${prefix}distance_count(int T, int S) { return T + S - 1; }
% elseif toeplitz then
/* The vectors of distances of T tokens: one for every query - key, from -(T - 1) on. */
INLINE int ${prefix}distance_count(int T) { return 2 * T - 1; }
% else
% if per_distance and cross then
/* The vectors of distances of T queries and S keys, at most: one for every distance that occurs. */
INLINE int ${prefix}distance_count(int T, int S) {
    const long long pairs = (long long)T * S;
    return pairs < 2 * ${PREFIX}MAX_POSITION - 1 ? (int)pairs : 2 * ${PREFIX}MAX_POSITION - 1;
}
% elseif per_distance then
/* The vectors of distances of T tokens, at most: one for every distance that occurs. */
INLINE int ${prefix}distance_count(int T) {
    const long long pairs = (long long)T * (T - 1) + 1;
    return pairs < 2 * ${PREFIX}MAX_POSITION - 1 ? (int)pairs : 2 * ${PREFIX}MAX_POSITION - 1;
}
% else
/* The vectors of distances: the rows of the table. */
INLINE int ${prefix}distance_count(${lengths}) {
    (void)T;
% if cross then
    (void)S;
% end
    return ${relative.rows_text};
}
% end

/* Which pairs of a set have which vector; made on the host, since positions are drawn there. */
typedef struct ${prefix}pair_rows {
    const int *count;    /* vectors that occur */
    const int *distance; /* [count] ascending */
    const int *row;      /* [keys][queries] the pair's vector */
    const int *start;    /* [count + 1] where the pairs of a vector begin in pair */
% if cross then
    const int *pair;     /* [T S] query * S + key, vector by vector */
% else
    const int *pair;     /* [T^2] query * T + key, vector by vector */
% end
} ${prefix}pair_rows;

INLINE size_t ${prefix}lay_out_pair_rows(${prefix}pair_rows *r, const int *memory, ${lengths}) {
    const size_t count = (size_t)${prefix}distance_count(${room}), pairs = (size_t)T * (size_t)${cross and "S" or "T"};
    r->count = memory;
    r->distance = memory + 1;
    r->row = r->distance + count;
    r->start = r->row + pairs;
    r->pair = r->start + count + 1;
    return 2 * count + 2 + 2 * pairs;
}
% end
