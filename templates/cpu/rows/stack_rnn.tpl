% local capacity = cells and "CELLS" or "w->length"
/* A stack-RNN, which computes each step for all sequences; state and stack before the first step are zero.
 * states [step][sequence][${width}]; stores: whether values of all steps are stored. */
static void ${name}_forward(const workspace *w, bool stores, real *states) {
    const parameters *p = w->parameters;
    const int sequences = w->sequences, size = sequences * ${width}, rows = round_up(sequences, TILE_ROWS);
    const int stored = stores ? sequences : 0; /* number of rows by which pointers to values advance after a step; 0: each step overwrites the values */
    const uint16_t *token = w->block->tokens[0];
    real *heads = w->heads, *stack = w->stacks, *read = w->reads;
    const int stack_size = count_stack_numbers(w->length, ${capacity});
    memset(stack, 0, (size_t)(sequences * stack_size) * sizeof(real));
    for (int t = 0; t < w->length; t++, states += size) {
        token_sums(sequences, ${width}, token + t, w->length, p->input, p->input_bias, states);
        if (t > 0) {
            add_read(sequences, ${width}, ${columns}, heads, read, p->read, states);
            heads += stored * ${columns};
        }
        rnn_step(sequences, ${width}, p->recurrent_bias, states);
        if (t == w->length - 1) break;
        ${forward_product}(rows, states, w->${panels_member}->recurrent, heads);
        real *after = stack + stored * stack_size;
        read += stored * CELL_WIDTH;
        stack_step(sequences, ${columns}, count_stack_cells(t + 1, w->length, ${capacity}), stack_size,
                p->recurrent_bias + ${width}, stack, heads + ${width}, after, read);
        stack = after;
    }
}

/* Processes the steps from the last to the first.
 * dstates: on entry gradients that come from the readout, on return gradients of the sums before activation.
 * w->heads: on entry values of the forward pass, on return gradients of the products; the last step has no product. */
static void ${name}_backward(const workspace *w, const real *states, real *dstates, parameters *g) {
    const parameters *p = w->parameters;
    const int sequences = w->sequences, size = sequences * ${width}, rows = round_up(sequences, TILE_ROWS);
    const uint16_t *token = w->block->tokens[0];
    const int stack_size = count_stack_numbers(w->length, ${capacity});
    const real *later = NULL;
    memset(w->dstack, 0, (size_t)(sequences * stack_size) * sizeof(real));
    for (int t = w->length - 1; t >= 0; t--) {
        const size_t row = (size_t)t * (size_t)sequences;
        real *d = dstates + row * ${width}, *heads = w->heads + row * ${columns};
        if (t < w->length - 1) {
            int before = count_stack_cells(t, w->length, ${capacity}), after = count_stack_cells(t + 1, w->length, ${capacity});
            stack_step_grad(sequences, ${columns}, before > after ? before : after, stack_size,
                    w->stacks + row * (size_t)stack_size, heads + ${width}, w->dstack);
            ${backward_product}(rows, heads, w->${panels_member}->recurrent_transposed, w->dlater);
            later = w->dlater;
        }
        rnn_step_grad(sequences, ${width}, states + row * ${width}, later, d);
        if (t > 0)
            add_read_grad(sequences, ${width}, ${columns}, d, p->read, stack_size, heads - sequences * ${columns}, w->dstack);
        token_sums_grad(sequences, ${width}, token + t, w->length, d, g->input);
    }
    const int steps = w->tokens - sequences; /* number of rows: each step but one has a row for every sequence */
    ${weight_grad}(steps, states, w->heads, g->recurrent);
    bias_grad(steps, ${columns}, w->heads, g->recurrent_bias);
    bias_grad(sequences, ${width}, dstates, g->recurrent_bias);
    read_weight_grad(steps, ${width}, w->reads + sequences * CELL_WIDTH, dstates + size, g->read);
    bias_grad(w->tokens, ${width}, dstates, g->input_bias);
}
