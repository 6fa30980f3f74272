/* An LSTM, which computes each step for all sequences; state and cells before the first step are zero.
 * states [step][sequence][${width}]; stores: whether the gates and cells of all steps are stored. */
static void ${name}_forward(const workspace *w, bool stores, real *states) {
    const parameters *p = w->parameters;
    const int sequences = w->sequences, size = sequences * ${width}, rows = round_up(sequences, TILE_ROWS);
    const uint16_t *token = w->block->tokens[0];
    real *gates = w->gates, *cells = w->cells;
    const real *before = NULL;
    for (int t = 0; t < w->length; t++, states += size) {
        token_sums(sequences, ${sums}, token + t, w->length, p->input, p->input_bias, gates);
        if (t > 0) ${forward_product}(rows, states - size, w->${panels_member}->recurrent, gates);
        lstm_step(sequences, ${width}, before, gates, cells, states);
        before = cells;
        if (!stores) continue;
        gates += 4 * size;
        cells += size;
    }
}

/* Processes the steps from the last to the first.
 * dstates: on entry gradients that come from the readout, on return the whole gradients of the states.
 * w->gates: on entry values of the forward pass, on return gradients of the gates' sums before activation. */
static void ${name}_backward(const workspace *w, const real *states, real *dstates, parameters *g) {
    const int sequences = w->sequences, size = sequences * ${width}, rows = round_up(sequences, TILE_ROWS);
    const uint16_t *token = w->block->tokens[0];
    memset(w->dcells, 0, (size_t)size * sizeof(real));
    for (int t = w->length - 1; t >= 0; t--) {
        const size_t start = (size_t)t * (size_t)size;
        real *d = dstates + start, *gates = w->gates + 4 * start;
        const real *cells = w->cells + start;
        lstm_step_grad(sequences, ${width}, t > 0 ? cells - size : NULL, cells, d, w->dcells, gates);
        if (t > 0) ${backward_product}(rows, gates, w->${panels_member}->recurrent_transposed, d - size);
        token_sums_grad(sequences, ${sums}, token + t, w->length, gates, g->input);
    }
    ${weight_grad}(w->tokens - sequences, states, w->gates + 4 * size, g->recurrent);
    bias_grad(w->tokens, ${sums}, w->gates, g->input_bias);
}
