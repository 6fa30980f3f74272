/* to += from and from = 0, for a piece. Until the next barrier, only the thread that adds an element reads it. */
INLINE void move_piece(real *from, real *to) {
    assume_global(from);
    assume_global(to);
    for (int i = 0; i < PIECE_PART; i++) {
        const int e = piece_element(i);
        to[e] += from[e];
        from[e] = 0;
    }
}

INLINE void clear_piece(real *x) {
    assume_global(x);
    for (int i = 0; i < PIECE_PART; i++) x[piece_element(i)] = 0;
}

/* Adds the gradients from the tables of all parts to the gradient of the step. Each iteration of the second loop
 * computes a part's gradients in the memory of the first shard's gradient. This memory is 0 before and after. */
INLINE void end_parts(real *gradient) {
    const block_state *b = block();
    team *t = &block()->members;
    real *part_gradient = (real *)b->replica.partials;
    const char *sums = b->replica.partials + PARAMETER_STORAGE * sizeof(real);
    for (int part = 0; part < PARTS && b->parts[part].sequences > 0; part++) {
        enter_part(part);
        fold(count_shards(b, b->step.sequences), sums, b->train.partial_stride, t->rank * THREADS + (int)threadIdx.x,
                t->blocks * THREADS, (int)(sum_bytes(b->view.T) / sizeof(real)), (real *)b->view.shared.sums);
        sums += count_shards(b, b->step.sequences) * b->train.partial_stride;
    }
    team_barrier(t);
    for (int part = 0; part < PARTS && b->parts[part].sequences > 0; part++) {
        enter_part(part);
        end_tables((parameters *)part_gradient);
        team_barrier(t);
        for (int piece = t->rank; piece < PIECES; piece += t->blocks)
            move_piece(part_gradient + piece * PIECE, gradient + piece * PIECE);
        team_barrier(t);
    }
}
