/* Expands x [VOCABULARY][width] in place to [tokens][width]: each token gets the row of its symbol.
 * distinct: the computed rows; if this is &w->all, x already has a row for each token, and does not change. */
static void repeat_rows(const workspace *w, const row_set *distinct, int width, real *x) {
    if (distinct == &w->all) return;
    const size_t row = (size_t)width * sizeof(real);
    memcpy(w->token_scratch, x, VOCABULARY * row);
    for (int m = 0; m < w->tokens; m++) memcpy(x + m * width, w->token_scratch + w->block->tokens[0][m] * width, row);
}

/* Sums the gradients of tokens [tokens][width] in place by symbol, [VOCABULARY][width].
 * distinct: the computed rows; if this is &w->all, the gradients do not change. */
static void sum_by_symbol(const workspace *w, const row_set *distinct, int width, real *gradient) {
    if (distinct == &w->all) return;
    const size_t size = (size_t)VOCABULARY * (size_t)width * sizeof(real);
    memset(w->token_scratch, 0, size);
    for (int m = 0; m < w->tokens; m++) {
        real *sum = w->token_scratch + w->block->tokens[0][m] * width;
        for (int c = 0; c < width; c += LANES) store(sum + c, load(sum + c) + load(gradient + m * width + c));
    }
    memcpy(gradient, w->token_scratch, size);
}
