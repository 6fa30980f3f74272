% -- Decoding computes tokens from w->from on.
% local computed_start = cpu.decoding and "w->from + " or ""
% if readout == "probe" then
/* The first token of the part in sequence s: token 0 if the part has all tokens, else the labelled token. */
INLINE int part_start(const workspace *w, const row_set *part, int s) {
    return part->count < w->all.count ? w->block->place[s] : 0;
}
% else
/* The first token of the part in every sequence. */
INLINE int part_start(const workspace *w, const row_set *part) { return ${computed_start}w->all.count - part->count; }
% end

/* Returns the rows of x [all tokens][width] for the part's tokens: x itself if the part is all tokens, else copies in
 * `rows`. */
static const real *select_rows(const workspace *w, const row_set *part, int width, const real *x, real *rows) {
    if (part->count == w->all.count) return x;
    const int size = part->count * width;
    for (int s = 0; s < w->sequences; s++)
        memcpy(rows + s * size, x + (s * w->all.count + ${part_start}) * width, (size_t)size * sizeof(real));
    return rows;
}

/* Expands gradients of the part's rows to gradients of all tokens, in place; gradients of other tokens become zero. */
static void expand_rows(const workspace *w, const row_set *part, int width, real *gradient) {
    const int size = part->count * width, all = w->all.count * width;
    if (size == all) return;
    for (int s = w->sequences - 1; s >= 0; s--) {
        real *expanded = gradient + s * all;
        const int start = ${part_start} * width, end = start + size;
        memmove(expanded + start, gradient + s * size, (size_t)size * sizeof(real));
        memset(expanded, 0, (size_t)start * sizeof(real));
        memset(expanded + end, 0, (size_t)(all - end) * sizeof(real));
    }
}
