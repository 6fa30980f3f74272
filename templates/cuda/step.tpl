% local drops = dropouts[1] ~= nil
% local embedding_drops = additive.dropout.kind == "bernoulli"
% local branch_drops = dropout.kind == "bernoulli"
% local scratch_of_set = cuda.end_by_layer and " + (size_t)l * score_scratch(v->T)" or ""
/* What a step or evaluation reads. By one thread. */
INLINE void view_step(block_state *b, const lh_cuda_step *in, const void *p${tables and ", const void *tables" or ""}${cuda.shared and ", char *shared" or ""}) {
    step_view *v = &b->view;
    b->step = *in;
    v->p = (const parameters *)p;
% if tables then
    v->tables = (const position_row *)tables;
% end
% if cuda.draws then
    v->draws = in->draws;
% end
    v->T = in->T;
    v->label_count = in->label_count;
% if cuda.shared then
    lay_out_shared(&v->shared, shared, in->T);
% end
}

/* Makes `sequences` examples from `first` on the block's. By one thread. */
INLINE void take_examples(block_state *b, int first, int sequences, char *memory, const bool training) {
    b->first = first;
    b->sequences = sequences;
    b->tokens = b->step.tokens + (size_t)first * b->view.T;
    b->labels = b->step.labels + (size_t)first * b->view.label_count;
    b->mask = b->step.mask + (size_t)first * b->view.label_count;
    lay_out(&b->work, memory, sequences, b->view.T, b->view.label_count, training);
}

/* Makes layer l of a shard in training the block's. */
INLINE void enter_layer(int l) {
    block_state *b = block();
    __syncthreads();
    if (threadIdx.x == 0) {
        const size_t step = layer_bytes(b->sequences, b->view.T);
        size_t used = 0;
        b->l = l;
        b->input = b->work.input;
        if (l > 0) {
            lay_out_layer(&b->layer, b->work.layers + (l - 1) * step, &used, b->sequences, b->view.T);
            b->input = b->layer.output;
            used = 0;
        }
        lay_out_layer(&b->layer, b->work.layers + l * step, &used, b->sequences, b->view.T);
    }
    __syncthreads();
}

/* Shards have equal sizes; the first ones take what is left over, one each. */
INLINE int shard_start(int sequences, int shards, int shard) {
    const int rest = sequences % shards;
    return shard * (sequences / shards) + (shard < rest ? shard : rest);
}

/* One shard, forward and back: writes all of its gradient and its sums. */
INLINE void train_shard(int shard) {
    block_state *b = block();
    char *partial = b->replica.partials + shard * b->train.partial_stride;
    parameters *g = (parameters *)partial;
    __syncthreads();
    if (threadIdx.x == 0) {
        const int first = shard_start(b->step.sequences, b->train.shards, shard);
        const int sequences = shard_start(b->step.sequences, b->train.shards, shard + 1) - first;
        take_examples(b, first, sequences, b->train.workspace + blockIdx.x * b->train.workspace_stride, true);
% if cuda.sums then
        size_t used = 0;
        lay_out_sums(&b->sums, partial + PARAMETER_STORAGE * sizeof(real), &used, b->view.T);
% end
    }
    __syncthreads();
% if drops then
    draw_masks();
% end
    embed(${embedding_drops and "true" or ""});
#pragma unroll 1
    for (int l = 0; l < LAYERS; l++) {
        enter_layer(l);
        layer_forward(b->layer.output${branch_drops and ", true" or ""});
    }
    classify(b->layer.output, true);
    add_up(b->replica.shard_sums + shard);
    classify_backward(b->layer.output, g);
#pragma unroll 1
    for (int l = LAYERS - 1; l >= 0; l--) {
        if (l + 1 < LAYERS) enter_layer(l);
        layer_backward(&g->layer[l]);
    }
    embed_backward(g);
}
% if cuda.sums then

/* Takes the folded gradients of the step's tables on to the parameters' gradient. */
INLINE void end_tables(parameters *g) {
    const step_view *v = &block()->view;
    const team *t = &block()->members;
    table_sums sums;
    size_t used = 0;
    lay_out_sums(&sums, v->shared.sums, &used, v->T);
% if additive.kind == "learned" then
    for (int e = t->rank * THREADS + (int)threadIdx.x; e < v->T * WIDTH; e += t->blocks * THREADS)
        g->position_table[(${input_draw and "v->draws[e / WIDTH]" or "e / WIDTH"}) * WIDTH + e % WIDTH] = sums.places[e];
% end
% if relative.kind == "transformer_xl" then
    const int room = distance_count(v->T);
    for (int l = t->rank; l < LAYERS; l += t->blocks) {
        const int set = RELATIVE_SETS > 1 ? l : 0, count = row_count(v, l);
        real *drows = sums.rows + (size_t)l * room * WIDTH, *row_sums = sums.row_sums + (size_t)l * room * HEADS;
        const real *rows = v->shared.rows + (size_t)l * room * WIDTH;
        for (int c = threadIdx.x; c < WIDTH; c += THREADS) {
            const int h = c / HEAD_WIDTH, d = c % HEAD_WIDTH;
            const real bias = v->p->layer[l].position_bias[c];
            real sum = 0;
            for (int x = 0; x < count; x++) {
                sum += row_sums[h * count + x] * rows[(h * count + x) * HEAD_WIDTH + d];
                drows[x * WIDTH + c] = (drows[x * WIDTH + c] + row_sums[h * count + x] * bias) * LOGIT_SCALE;
            }
            g->layer[l].position_bias[c] = sum * LOGIT_SCALE;
        }
        __syncthreads();
        product(WIDTH, WIDTH, count, ROWS, v->shared.codes + (size_t)set * room * WIDTH, WIDTH, ROWS, drows, WIDTH,
                FINISH_STORE, (const real *)0, g->layer[l].relative, WIDTH);
    }
% elseif relative.kind == "shaw" then
    const int count = distance_count(v->T);
    const int elements = LAYERS * (2 * CLIP + 1) * HEAD_WIDTH;
    for (int e = t->rank * THREADS + (int)threadIdx.x; e < elements; e += t->blocks * THREADS) {
        const int l = e / HEAD_WIDTH / (2 * CLIP + 1), row = e / HEAD_WIDTH % (2 * CLIP + 1), d = e % HEAD_WIDTH;
        real sum = 0;
% if relative.toeplitz then
        for (int x = 0; x < count; x++) {
            if (table_row(relative_distance(v, RELATIVE_SETS > 1 ? l : 0, x)) != row) continue;
            for (int h = 0; h < HEADS; h++) sum += sums.rows[(((size_t)l * HEADS + h) * count + x) * HEAD_WIDTH + d];
        }
% else
        for (int h = 0; h < HEADS; h++) sum += sums.rows[(((size_t)l * HEADS + h) * count + row) * HEAD_WIDTH + d];
% end
        g->layer[l].relative_table[row * HEAD_WIDTH + d] = sum * LOGIT_SCALE;
    }
% end
% if score.trains then
% if cuda.end_by_layer then
    for (int l = t->rank; l < SCORE_SETS; l += t->blocks) {
% else
    for (int l = 0; t->rank == 0 && l < SCORE_SETS; l++) {
% end
        score_tables tables;
        score_gradients d;
        score_tables_of(v, l, &tables);
        used = 0;
        lay_out_score_gradients(&d, sums.score + (size_t)l * score_gradient_bytes(v->T), &used, v->T);
        __syncthreads();
        end_score(v, l, &tables, &d, g, v->shared.scratch${scratch_of_set}, staging());
    }
% end
}
% end

/* The step's gradient, and the squares of its pieces. */
INLINE void fold_gradients(void) {
    const block_state *b = block();
    team *t = &block()->members;
    real *gradient = (real *)b->replica.gradient;
% if cuda.sums then
    for (int piece = t->rank; piece < PIECES; piece += t->blocks)
        fold(b->train.shards, b->replica.partials + piece * PIECE * sizeof(real), b->train.partial_stride, threadIdx.x,
                THREADS, PIECE, gradient + piece * PIECE);
    fold(b->train.shards, b->replica.partials + PARAMETER_STORAGE * sizeof(real), b->train.partial_stride,
            t->rank * THREADS + (int)threadIdx.x, t->blocks * THREADS, (int)(sum_bytes(b->view.T) / sizeof(real)),
            (real *)b->view.shared.sums);
    team_barrier(t);
    end_tables((parameters *)gradient);
    team_barrier(t);
% end
    for (int piece = t->rank; piece < PIECES; piece += t->blocks) {
% if not cuda.sums then
        fold(b->train.shards, b->replica.partials + piece * PIECE * sizeof(real), b->train.partial_stride, threadIdx.x,
                THREADS, PIECE, gradient + piece * PIECE);
% end
        const double squares = piece_squares(gradient + piece * PIECE);
        if (threadIdx.x == 0) b->replica.piece_sums[piece] = squares;
    }
    team_barrier(t);
}

INLINE double gradient_squares(void) { return total_of(block()->replica.piece_sums, PIECES, 1); }

INLINE double total_loss(void) {
    return total_of(&block()->replica.shard_sums->loss, block()->train.shards, sizeof(lh_cuda_sums) / sizeof(double));
}

/* Clips and updates; false, and nothing is updated, where the loss or the gradient is not finite. */
INLINE bool update(void) {
    const lh_cuda_replica *r = &block()->replica;
    const double squares = gradient_squares(), loss = total_loss();
    if (!(squares - squares == 0) || !(loss - loss == 0)) return false;
% if clip.kind == "global_norm" then
    const double norm = sqrt(squares), clip = norm < MAX_NORM ? 1 : MAX_NORM / norm;
% else
    const double clip = 1;
% end
    const adam constants = {(real)clip, (real)block()->step.rate, (real)block()->step.correct2};
    for (int piece = block()->members.rank; piece < PIECES; piece += block()->members.blocks) {
        const size_t e = (size_t)piece * PIECE;
        double parameters, changes;
        adam_piece(constants, (const real *)r->gradient + e, (real *)r->moment1 + e, (real *)r->moment2 + e,
                (real *)r->parameters + e, &parameters, &changes);
        if (threadIdx.x == 0) {
            r->piece_sums[PIECES + piece] = parameters;
            r->piece_sums[2 * PIECES + piece] = changes;
        }
    }
    return true;
}

/* What the step came to, but for the update. By one block, before the others go on to the next step. */
INLINE void report(bool finite, lh_cuda_result *to) {
    const lh_cuda_replica *r = &block()->replica;
    const double squares = gradient_squares(), loss = total_loss();
    if (threadIdx.x != 0) return;
    lh_cuda_result result = {{loss, 0, 0, 0}, squares, 0, 0, 0, 0, finite ? LH_CUDA_DONE : LH_CUDA_NOT_FINITE};
    for (int shard = 0; shard < block()->train.shards; shard++) {
        result.sums.counted += r->shard_sums[shard].counted;
        result.sums.correct += r->shard_sums[shard].correct;
        result.sums.exact_ones += r->shard_sums[shard].exact_ones;
    }
    for (int chunk = 0; chunk < PIECES / CHUNK_PIECES; chunk++) {
        double sum = 0;
        for (int piece = 0; piece < CHUNK_PIECES; piece++) sum += r->piece_sums[chunk * CHUNK_PIECES + piece];
        if (sum > result.heavy_squares) {
            result.heavy_squares = sum;
            result.heavy_chunk = chunk;
        }
    }
    *to = result;
}

/* The rest of it, when all have made their updates. */
INLINE void report_update(lh_cuda_result *to) {
    const double *sums = block()->replica.piece_sums;
    const double parameters = total_of(sums + PIECES, PIECES, 1), changes = total_of(sums + 2 * PIECES, PIECES, 1);
    if (threadIdx.x != 0) return;
    to->parameter_squares = parameters;
    to->update_squares = changes;
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
${id}_train_kernel(const lh_cuda_train a) {
    block_state *b = block();
    team *t = &b->members;
    const int replica = blockIdx.x / a.team;
    if (threadIdx.x == 0) {
        b->train = a;
        b->replica = a.replicas[replica];
        *t = join_team(a.team, b->replica.arrivals);
    }
    for (int n = 0; n < a.count; n++) {
        __syncthreads();
        if (threadIdx.x == 0)
            view_step(b, a.steps + replica * a.count + n, b->replica.parameters${tables and ", a.tables" or ""}${cuda.shared and ", b->replica.shared" or ""});
        __syncthreads();
% if cuda.begins then
        begin_step();
% end
        for (int shard = t->rank; shard < a.shards; shard += a.team) train_shard(shard);
        team_barrier(t);
        fold_gradients();
        const bool finite = update();
        lh_cuda_result *result = a.results + replica * a.count + n;
        if (t->rank == 0) report(finite, result);
        team_barrier(t);
        if (!finite) return;
        if (t->rank == 0) report_update(result);
    }
}

/* The answers of a group, and its logits where they are asked for. */
INLINE void give_answers(lh_cuda_answer *answers, real *logits) {
    const block_state *b = block();
    const workspace *w = &b->work;
    const int label_count = b->view.label_count;
    for (int sequence = threadIdx.x; sequence < b->sequences; sequence += THREADS) {
        lh_cuda_answer answer = {0, 0, 0};
        for (int n = sequence * label_count; n < (sequence + 1) * label_count; n++) {
            answer.loss += w->losses[n];
            answer.counted += b->mask[n];
            answer.correct += b->mask[n] & w->correct[n];
        }
        answers[b->first + sequence] = answer;
    }
    if (!logits) return;
    for (int e = threadIdx.x; e < b->sequences * label_count * CLASSES; e += THREADS)
        logits[(size_t)b->first * label_count * CLASSES + e] = w->logits[e / CLASSES * CLASS_COLUMNS + e % CLASSES];
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
${id}_evaluate_kernel(const lh_cuda_evaluate a) {
    block_state *b = block();
    const int group = a.group, examples = a.step->sequences;
    if (threadIdx.x == 0) {
        view_step(b, a.step, a.parameters${tables and ", a.tables" or ""}${cuda.shared and ", a.shared" or ""});
        b->members = join_team(gridDim.x, a.arrivals);
    }
    __syncthreads();
% if cuda.begins then
    begin_step();
% end
    for (int first = blockIdx.x * group; first < examples; first += gridDim.x * group) {
        __syncthreads();
        if (threadIdx.x == 0) {
            const int left = examples - first;
            size_t used = 0;
            take_examples(b, first, left < group ? left : group, a.workspace + blockIdx.x * a.workspace_stride, false);
            lay_out_layer(&b->layer, b->work.layers, &used, b->sequences, b->view.T);
            b->input = b->work.input;
        }
        __syncthreads();
        embed(${embedding_drops and "false" or ""});
#pragma unroll 1
        for (int l = 0; l < LAYERS; l++) {
            if (threadIdx.x == 0) b->l = l;
            __syncthreads();
            layer_forward(b->work.input${branch_drops and ", false" or ""});
        }
        classify(b->work.input, false);
        give_answers(a.answers, (real *)a.logits);
    }
}
