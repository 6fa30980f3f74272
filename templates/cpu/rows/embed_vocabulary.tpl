% local channels_format = embeds_linearly and "embed_channels(p->%s, p->%s_bias, token, c)" or "load(p->%s + token * WIDTH + c) * %s"
% local channels = channels_format:format(vectors, embeds_linearly and vectors or scale)
/* x [VOCABULARY][WIDTH] = the vectors of all symbols, as ${routine} computes them. */
static void ${routine}_vocabulary(const workspace *w, real *x) {
    const parameters *p = w->parameters;
    for (int token = 0; token < VOCABULARY; token++)
        for (int c = 0; c < WIDTH; c += LANES) store(x + token * WIDTH + c, ${channels});
}

/* Adds the gradients of the embedding's parameters to g. gradient [VOCABULARY][WIDTH]: the gradients of the symbols' vectors. */
static void ${routine}_vocabulary_backward(const real *gradient, parameters *g) {
% if embeds_linearly then
    for (int token = 0; token < VOCABULARY; token++) {
        const real *d = gradient + token * WIDTH;
        for (int c = 0; c < WIDTH; c += LANES) add_at(g->${vectors}_bias + c, load(d + c));
% if task.blank_count > 0 then
        if (token < BLANKS) continue;
        for (int c = 0; c < WIDTH; c += LANES) add_at(g->${vectors} + (token - BLANKS) * WIDTH + c, load(d + c));
% else
        for (int c = 0; c < WIDTH; c += LANES) add_at(g->${vectors} + token * WIDTH + c, load(d + c));
% end
    }
% else
    for (int c = 0; c < VOCABULARY * WIDTH; c += LANES)
        store(g->${vectors} + c, load(g->${vectors} + c) + load(gradient + c) * ${scale});
% end
}
