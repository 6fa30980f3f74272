% include("cuda/end_tables.tpl") % if cuda.has_table_sums

% if cuda.constants then
/* Whether element e belongs to a tensor that is not learned. */
INLINE bool is_constant(int e) {
    bool found = false;
% for _, t in ipairs(cuda.constants) do
% if t.stride == t.columns then
    if (e >= ${t.first} && e <= ${t.last}) found = true; /* ${t.name} */
% else
    if (e >= ${t.first} && e <= ${t.last} && (e - ${t.first}) % ${t.stride} < ${t.columns}) found = true; /* ${t.name} */
% end
% end
    return found;
}

/* Clears a piece's elements of tensors that are not learned. Until the next barrier, only the thread that clears an
 * element reads this element. */
INLINE void clear_constants(int piece, real *gradient) {
    assume_global(gradient);
    for (int i = 0; i < PIECE_PART; i++)
        if (is_constant(piece * PIECE + piece_element(i))) gradient[piece * PIECE + piece_element(i)] = 0;
}

% end
% if task.excludes_masked_labels then
/* Returns to every thread the number of counted labels of all shards. */
INLINE double count_labels(void) {
    const lh_cuda_sums *sums = block()->replica.shard_sums;
    double counted = 0;
    assume_global(sums);
    for (int shard = threadIdx.x; shard < block()->train.shards; shard += THREADS) counted += sums[shard].counted;
    return block_sum(counted);
}

% end
% if cuda.scales_gradient then
/* Returns the factor that converts the sum of the shards' gradients to the gradient of the mean over counted labels.
 * Shards divide by the number of all labels of the batch, so the factor is exactly 1 if no label is masked. */
INLINE double mask_factor(double counted) {
    const lh_cuda_step *step = &block()->step;
    return counted > 0 ? (double)step->sequences * step->label_count / counted : 1;
}

/* Scales the gradient of a piece. Until the next barrier, only the thread that scales an element reads
 * this element. */
INLINE void scale_piece(real factor, real *gradient) {
    assume_global(gradient);
    for (int i = 0; i < PIECE_PART; i++) gradient[piece_element(i)] *= factor;
}

% end
% if cuda.products == "generated" then
% include("cuda/weights.tpl") % if cuda.by_team
% paragraph("cuda/mixed_tables.tpl") % if train.mixes_lengths and cuda.has_table_sums
/* Computes the step's gradient, and the sum of squares of each piece of the gradient. */
INLINE void fold_gradients(real factor) {
    const block_state *b = block();
    team *t = &block()->members;
    real *gradient = (real *)b->replica.gradient;
% if cuda.by_team then
    add_up_products();
    team_barrier(t); % if not cuda.has_table_sums
% end
% if cuda.has_table_sums then
    for (int piece = t->rank; piece < PIECES; piece += t->blocks) {
        % include("cuda/fold_piece.tpl")
        clear_piece((real *)b->replica.partials + piece * PIECE); % if train.mixes_lengths
    }
    end_parts(gradient); % if train.mixes_lengths
% if not train.mixes_lengths then
    fold(b->train.shards, b->replica.partials + PARAMETER_STORAGE * sizeof(real), b->train.partial_stride,
            t->rank * THREADS + (int)threadIdx.x, t->blocks * THREADS, (int)(sum_bytes(b->view.T) / sizeof(real)),
            (real *)b->view.shared.sums);
    team_barrier(t);
    end_tables((parameters *)gradient);
    team_barrier(t);
% end
% end
    for (int piece = t->rank; piece < PIECES; piece += t->blocks) {
        % include("cuda/fold_piece.tpl") % if not cuda.has_table_sums
        % include("cuda/finish_piece.tpl")
    }
    team_barrier(t);
}

% else
% if cuda.has_table_sums then
/* to[count] = 0, by all blocks of the team. */
INLINE void clear_by_team(int count, real *to) {
    const team *t = &block()->members;
    assume_global(to);
    for (int e = t->rank * THREADS + (int)threadIdx.x; e < count; e += t->blocks * THREADS) to[e] = 0;
}

% end
/* to[count] = the sum of from[count] over shards, by all blocks of the team. from: the address in the first shard. */
INLINE void fold_shards(const real *from, int count, real *to) {
    const block_state *b = block();
    const team *t = &b->members;
    fold(b->train.shards, (const char *)from, b->train.partial_stride, t->rank * THREADS + (int)threadIdx.x,
            t->blocks * THREADS, count, to);
}

% if device.has_loops then
/* to[count] += the sum of from[count] over shards. Each thread adds to the elements that it has written in fold_shards. */
INLINE void add_shards(const real *from, int count, real *to) {
    const block_state *b = block();
    const team *t = &b->members;
    for (int e = t->rank * THREADS + (int)threadIdx.x; e < count / 4; e += t->blocks * THREADS) {
        quad sum = *(const quad *)(to + 4 * e);
        for (int shard = 0; shard < b->train.shards; shard++) {
            const quad part = *(const quad *)((const char *)(from + 4 * e) + shard * b->train.partial_stride);
#pragma unroll
            for (int i = 0; i < 4; i++) sum.v[i] += part.v[i];
        }
        *(quad *)(to + 4 * e) = sum;
    }
}

% end
/* Computes the step's gradient of all parameters except weights of products.
 * Then computes the sum of squares of each piece of the whole gradient. */
INLINE void fold_gradients(real factor) {
    const block_state *b = block();
    team *t = &block()->members;
    real *gradient = (real *)b->replica.gradient;
    parameters *to = (parameters *)gradient;
    const gradients *g = (const gradients *)b->replica.partials;
% for _, struct in ipairs(structs) do
% if struct.block and struct.shard_sums.members[1] then
    for (int l = 0; l < ${struct.count}; l++) {
% local last_pass_start = device.last_pass_starts[struct.block]
% local first_with_gradient = device.samples_passes and "count_free_passes() * " .. struct.count or "0"
% local last_use = last_pass_start and last_pass_start .. " + l" or "l"
        const ${struct.gradients_type} *from = &g->${struct.block}[${last_use}];
        ${struct.name} *into = &to->${struct.block}[l];
% for _, m in ipairs(struct.shard_sums.members) do
        % include("cuda/fold_member.tpl", { fold = "fold_shards", from = "from->" .. m.name, to = "into->" .. m.name, member = m })
% end
% if last_pass_start then
        for (int use = ${last_pass_start} + l - ${struct.count}; use >= ${first_with_gradient}; use -= ${struct.count}) {
            const ${struct.gradients_type} *more = &g->${struct.block}[use];
% for _, m in ipairs(struct.shard_sums.members) do
            % include("cuda/fold_member.tpl", { fold = "add_shards", from = "more->" .. m.name, to = "into->" .. m.name, member = m })
% end
        }
% end
    }
% elseif not struct.block then
% for _, m in ipairs(struct.shard_sums.members) do
    % include("cuda/fold_member.tpl", { fold = "fold_shards", from = "g->" .. m.name, to = "to->" .. m.name, member = m })
% end
% end
% end
% if cuda.has_table_sums then
    /* end_tables adds to these gradients, or writes only some of their rows. */
% for _, struct in ipairs(structs) do
% for _, m in ipairs(struct.table_members) do
% if struct.block then
    for (int l = 0; l < ${struct.count}; l++) clear_by_team(${m.size}, to->${struct.block}[l].${m.name});
% else
    clear_by_team(${m.size}, to->${m.name});
% end
% end
% end
    fold_shards((const real *)(b->replica.partials + GRADIENT_BYTES), (int)(sum_bytes(b->view.T) / sizeof(real)),
            (real *)b->view.shared.sums);
    team_barrier(t);
    end_tables(to);
% end
    team_barrier(t);
    for (int piece = t->rank; piece < PIECES; piece += t->blocks) {
        % include("cuda/finish_piece.tpl")
    }
    team_barrier(t);
}

% end
% paragraph("cuda/decay.tpl") % if optimizer.decay
% if task.excludes_masked_labels then
/* Ends a step without counted labels, which changes neither the parameters nor the optimiser's state.
 * Writes the sums of squares of the parameters and of the update, for each piece. */
INLINE void keep_parameters(void) {
    const lh_cuda_replica *r = &block()->replica;
    for (int piece = block()->members.rank; piece < PIECES; piece += block()->members.blocks) {
        const double parameters = piece_squares((const real *)r->parameters + (size_t)piece * PIECE);
        if (threadIdx.x == 0) {
            r->piece_sums[PIECES + piece] = parameters;
            r->piece_sums[2 * PIECES + piece] = 0;
        }
    }
}

% end
% if device.rounds then
/* Stores rounded copies of the product weights of a piece. Each thread rounds its own elements of the piece. */
INLINE void round_weights(int piece) {
    const lh_cuda_replica *r = &block()->replica;
#pragma unroll
    for (int i = 0; i < PIECE_PART; i += 4) {
        const int e = piece * PIECE + piece_element(i);
        if (!is_product_weight(e)) continue;
        quad weights = *(const quad *)((const real *)r->parameters + e);
#pragma unroll
        for (int c = 0; c < 4; c++) weights.v[c] = rounded_real(weights.v[c]);
        *(quad *)((real *)r->partials + e) = weights;
    }
}

% end
/* Clips and updates. Returns false, without an update, if the loss or the gradient is not finite. */
INLINE bool update(double squares, double loss, double counted) {
    const lh_cuda_replica *r = &block()->replica;
    if (!(squares - squares == 0) || !(loss - loss == 0)) return false;
% if task.excludes_masked_labels then
    if (counted == 0) {
        keep_parameters();
        return true;
    }
% end
    const double norm = sqrt(squares), clip = norm < MAX_NORM ? 1 : MAX_NORM / norm; % if clip.kind == "global_norm"
    const double clip = 1; % else
    const ${optimizer.struct} constants = {(real)clip, (real)block()->step.rate${optimizer.corrects and ", (real)block()->step.correct2" or ""}};
    const real share = decay_share(); % if optimizer.decay
    for (int piece = block()->members.rank; piece < PIECES; piece += block()->members.blocks) {
        const size_t e = (size_t)piece * PIECE;
        double piece_sums[2];
% if optimizer.decay then
        real shares[PIECE_PART];
        % call("spread_decay", "piece", "share", "shares")
% end
        % call(optimizer.routine .. "_piece", "constants", optimizer.decay and "shares", "(const real *)r->gradient + e", #optimizer.states > 0 and "(real *)r->moment1 + e", #optimizer.states > 1 and "(real *)r->moment2 + e", "(real *)r->parameters + e", "piece_sums")
        round_weights(piece); % if device.rounds
        if (threadIdx.x == 0) {
            r->piece_sums[PIECES + piece] = piece_sums[0];
            r->piece_sums[2 * PIECES + piece] = piece_sums[1];
        }
    }
    return true;
}

/* A chunk of the gradient, weighed by its sum of squares. */
typedef struct weighed {
    double squares;
    int chunk; /* index */
} weighed;

/* Returns the chunk with the larger sum of squares. If the sums are equal, returns the chunk with the smaller index. */
INLINE weighed heavier(const weighed a, const weighed b) {
    return b.squares > a.squares || (b.squares == a.squares && b.chunk < a.chunk) ? b : a;
}

/* Finds the chunk with the largest sum of squares. Only threads of the first warp return this chunk. */
INLINE weighed find_heaviest(const double *piece_sums) {
    weighed most = {0, 0};
    assume_global(piece_sums);
    if (threadIdx.x >= WARP) return most;
    for (int chunk = threadIdx.x; chunk < PIECES / CHUNK_PIECES; chunk += WARP) {
        weighed next = {0, chunk};
        for (int piece = 0; piece < CHUNK_PIECES; piece++) next.squares += piece_sums[chunk * CHUNK_PIECES + piece];
        most = heavier(most, next);
    }
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        const weighed other = {__shfl_xor_sync(0xffffffffu, most.squares, distance),
                __shfl_xor_sync(0xffffffffu, most.chunk, distance)};
        most = heavier(most, other);
    }
    return most;
}

/* Reports the step's sums, except the sums of the update. Called by one block, before other blocks begin the next step. */
INLINE void report(bool finite, double squares, double loss, lh_cuda_result *to) {
    const lh_cuda_replica *r = &block()->replica;
    double counted = 0, correct = 0, exact = 0;
    for (int shard = threadIdx.x; shard < block()->train.shards; shard += THREADS) {
        counted += r->shard_sums[shard].counted;
        correct += r->shard_sums[shard].correct;
        exact += r->shard_sums[shard].exact_ones;
    }
    const lh_cuda_sums sums = {loss, (long long)block_sum(counted), (long long)block_sum(correct),
            (long long)block_sum(exact)};
    const weighed heavy = find_heaviest(r->piece_sums);
    if (threadIdx.x != 0) return;
    *to = {sums, squares, 0, 0, heavy.squares, heavy.chunk, finite ? LH_CUDA_DONE : LH_CUDA_NOT_FINITE};
}

/* Reports the sums of the update. Called when all blocks have updated their pieces. */
INLINE void report_update(lh_cuda_result *to) {
    const double *sums = block()->replica.piece_sums;
    const double parameters = sum_list(sums + PIECES, PIECES, 1), changes = sum_list(sums + 2 * PIECES, PIECES, 1);
    if (threadIdx.x != 0) return;
    to->parameter_squares = parameters;
    to->update_squares = changes;
}
