/* A simple RNN, which computes each step for all sequences; the state before the first step is zero.
 * states [step][sequence][${width}]. */
static void ${name}_forward(const workspace *w, real *states) {
    const parameters *p = w->parameters;
    const int sequences = w->sequences, size = sequences * ${width}, rows = round_up(sequences, TILE_ROWS);
    const uint16_t *token = w->block->tokens[0];
    for (int t = 0; t < w->length; t++, states += size) {
        token_sums(sequences, ${sums}, token + t, w->length, p->input, p->input_bias, states);
        if (t > 0) ${forward_product}(rows, states - size, w->${panels_member}->recurrent, states);
        rnn_step(sequences, ${width}, p->recurrent_bias, states);
    }
}

/* Processes the steps from the last to the first.
 * dstates: on entry gradients that come from the readout, on return gradients of the sums before activation. */
static void ${name}_backward(const workspace *w, const real *states, real *dstates, parameters *g) {
    const int sequences = w->sequences, size = sequences * ${width}, rows = round_up(sequences, TILE_ROWS);
    const uint16_t *token = w->block->tokens[0];
    const real *later = NULL;
    for (int t = w->length - 1; t >= 0; t--) {
        real *d = dstates + (size_t)t * (size_t)size;
        rnn_step_grad(sequences, ${width}, states + (size_t)t * (size_t)size, later, d);
        if (t > 0) ${backward_product}(rows, d, w->${panels_member}->recurrent_transposed, w->dlater);
        later = w->dlater;
        token_sums_grad(sequences, ${sums}, token + t, w->length, d, g->input);
    }
    ${weight_grad}(w->tokens - sequences, states, dstates + size, g->recurrent);
    bias_grad(w->tokens, ${sums}, dstates, g->input_bias);
    bias_grad(w->tokens, ${sums}, dstates, g->recurrent_bias);
}
