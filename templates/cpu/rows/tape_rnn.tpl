% local jump = "(w->length - w->step->shape.labels)" .. (computation and " / " .. computation.tokens_per_symbol or "") .. " % CELLS"
% local hidden_width, value_width = write_2.from_width, write_3.to_width
/* A tape-RNN, which computes each step for all sequences; state and tape before the first step are zero.
 * states [step][sequence][${width}]; stores: whether values of all steps are stored. If not, two tapes are kept. */
static void ${name}_forward(const workspace *w, bool stores, real *states) {
    const parameters *p = w->parameters;
    const int sequences = w->sequences, size = sequences * ${width}, rows = round_up(sequences, TILE_ROWS);
    const int stored = stores ? sequences : 0; /* number of rows by which pointers to values advance after a step; 0: each step overwrites the values */
    const int tape_size = sequences * CELLS * CELL_WIDTH;
    const int jump = ${jump}; /* number of cells that a head jumps: the number of input tokens, modulo CELLS */
    const uint16_t *token = w->block->tokens[0];
    real *heads = w->heads, *tape = w->tapes, *after = stores ? tape + tape_size : w->spare_tape, *read = w->reads;
    real *hidden_1 = w->hidden_1, *hidden_2 = w->hidden_2, *written = w->written;
    memset(tape, 0, (size_t)tape_size * sizeof(real));
    for (int t = 0; t < w->length; t++, states += size) {
        token_sums(sequences, ${width}, token + t, w->length, p->input, p->input_bias, states);
        if (t > 0) {
            add_read(sequences, ${width}, ${columns}, heads, read, p->read, states);
            heads += stored * ${columns};
        }
        rnn_step(sequences, ${width}, p->recurrent_bias, states);
        if (t == w->length - 1) break;
        ${forward_product}(rows, states, w->${panels_member}->recurrent, heads);
        rectify_head(sequences, ${columns}, ${hidden_width}, p->recurrent_bias + ${width}, heads + ${width}, hidden_1);
        ${write_2.forward_product}(rows, hidden_1, w->${panels_member}->write_2, p->write_2_bias, hidden_2);
        ${write_3.forward_product}(rows, hidden_2, w->${panels_member}->write_3, p->write_3_bias, written);
        read += stored * CELL_WIDTH;
        tape_step(sequences, ${columns}, ${value_width}, CELLS, jump, p->recurrent_bias + ${width} + ${hidden_width}, written,
                heads + ${width} + ${hidden_width}, tape, after, read);
        hidden_1 += stored * ${hidden_width};
        hidden_2 += stored * ${hidden_width};
        written += stored * ${value_width};
        real *other = tape;
        tape = after;
        after = stores ? tape + tape_size : other;
    }
}

/* Processes the steps from the last to the first.
 * dstates: on entry gradients that come from the readout, on return gradients of the sums before activation.
 * w->heads, w->written: on entry values of the forward pass, on return their gradients; the last step has no values. */
static void ${name}_backward(const workspace *w, const real *states, real *dstates, parameters *g) {
    const parameters *p = w->parameters;
    const int sequences = w->sequences, size = sequences * ${width}, rows = round_up(sequences, TILE_ROWS);
    const int tape_size = sequences * CELLS * CELL_WIDTH;
    const int jump = ${jump}; /* number of cells that a head jumps: the number of input tokens, modulo CELLS */
    const uint16_t *token = w->block->tokens[0];
    const real *later = NULL;
    real *dtape = w->dtape, *dbefore = w->spare_tape;
    memset(dtape, 0, (size_t)tape_size * sizeof(real));
    for (int t = w->length - 1; t >= 0; t--) {
        const size_t row = (size_t)t * (size_t)sequences;
        real *d = dstates + row * ${width}, *heads = w->heads + row * ${columns};
        if (t < w->length - 1) {
            const real *hidden_1 = w->hidden_1 + row * ${hidden_width}, *hidden_2 = w->hidden_2 + row * ${hidden_width};
            real *written = w->written + row * ${value_width};
            tape_step_grad(sequences, ${columns}, ${value_width}, CELLS, jump, w->tapes + row * CELLS * CELL_WIDTH, dtape,
                    heads + ${width} + ${hidden_width}, dbefore, written);
            ${write_3.grad}(sequences, hidden_2, written, g->write_3, g->write_3_bias);
            ${write_3.backward_product}(rows, written, w->${panels_member}->write_3_transposed, hidden_2, w->dhidden_2);
            ${write_2.grad}(sequences, hidden_1, w->dhidden_2, g->write_2, g->write_2_bias);
            ${write_2.backward_product}(rows, w->dhidden_2, w->${panels_member}->write_2_transposed, hidden_1, w->dhidden_1);
            copy_head_grad(sequences, ${columns}, ${hidden_width}, w->dhidden_1, heads + ${width});
            ${backward_product}(rows, heads, w->${panels_member}->recurrent_transposed, w->dlater);
            later = w->dlater;
            real *other = dtape;
            dtape = dbefore;
            dbefore = other;
        }
        rnn_step_grad(sequences, ${width}, states + row * ${width}, later, d);
        if (t > 0)
            add_read_grad(sequences, ${width}, ${columns}, d, p->read, CELLS * CELL_WIDTH, heads - sequences * ${columns}, dtape);
        token_sums_grad(sequences, ${width}, token + t, w->length, d, g->input);
    }
    const int steps = w->tokens - sequences; /* number of rows: each step but one has a row for every sequence */
    ${weight_grad}(steps, states, w->heads, g->recurrent);
    bias_grad(steps, ${columns}, w->heads, g->recurrent_bias);
    bias_grad(sequences, ${width}, dstates, g->recurrent_bias);
    read_weight_grad(steps, ${width}, w->reads + sequences * CELL_WIDTH, dstates + size, g->read);
    bias_grad(w->tokens, ${width}, dstates, g->input_bias);
}
