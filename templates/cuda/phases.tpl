% local drops = dropouts[1] ~= nil
% local embedding_drops = additive.dropout.kind == "bernoulli"
% local branch_drops = dropout.kind == "bernoulli"
% local asks = not eval_dropout -- whether dropout is on: in training alone
% local mask0 = eval_dropout and "mask_at(0)" or "training ? mask_at(0) : (const unsigned char *)0"
% local mask1 = eval_dropout and "mask_at(1)" or "training ? mask_at(1) : (const unsigned char *)0"
% local dbranch = branch_drops and "dbranch" or "gradient"
% include("cuda/examples.tpl")
% include("cuda/update.tpl")

/* Fours of neighbours that a thread has in flight at once: number `first` of `count`, THREADS further on, ... */
enum { AT_ONCE = 4 };

INLINE void fetch_quads(const real *x, int first, int count, quad part[AT_ONCE]) {
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++)
        if (first + u * THREADS < count) part[u] = *(const quad *)(x + 4 * (first + u * THREADS));
}

/* x[rows][columns] += bias[columns], and 0 where that is less if it is rectified. */
INLINE void add_bias(int rows, const int columns, const real *bias, const bool rectified, real *x) {
    const int count = rows * (columns / 4);
    for (int first = threadIdx.x; first < count; first += AT_ONCE * THREADS) {
        quad part[AT_ONCE];
        fetch_quads(x, first, count, part);
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            const int q = first + u * THREADS;
            if (q >= count) break;
            const quad add = *(const quad *)(bias + 4 * (q % (columns / 4)));
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const real sum = part[u].v[i] + add.v[i];
                part[u].v[i] = rectified && !(sum > 0) ? 0 : sum;
            }
            *(quad *)(x + 4 * q) = part[u];
        }
    }
    __syncthreads();
}

/* dx = 0 where x is not above 0. */
INLINE void rectify_grad(int elements, const real *x, real *dx) {
    const int count = elements / 4;
    for (int first = threadIdx.x; first < count; first += AT_ONCE * THREADS) {
        quad value[AT_ONCE], part[AT_ONCE];
        fetch_quads(x, first, count, value);
        fetch_quads(dx, first, count, part);
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            const int q = first + u * THREADS;
            if (q >= count) break;
#pragma unroll
            for (int i = 0; i < 4; i++) part[u].v[i] = value[u].v[i] > 0 ? part[u].v[i] : 0;
            *(quad *)(dx + 4 * q) = part[u];
        }
    }
    __syncthreads();
}

/* A phase of the layers' way forward, whose parts are those of training and evaluation; out: the layer's output. One
 * post-norm encoder block: Ruoss et al. 2023, section 3; Vaswani et al. 2017. */
INLINE void forward_phase(int phase, real *out${branch_drops and asks and ", const bool training" or ""}) {
    const layer_parameters *p = &block()->view.p->layer[block()->l];
    const workspace *w = &block()->work;
    const layer_state *s = &block()->layer;
    const int rows = block()->sequences * block()->view.T;
    if (phase == LH_CUDA_ATTEND) {
% if rotation.kind == "rope" then
        rotate(1, s->query_key_value);
% end
        attend();
    } else if (phase == LH_CUDA_NORM1) {
% if branch_drops then
        residual_norm(rows, block()->input, w->branch, ${mask0}, p->norm1_scale,
                p->norm1_offset, s->xhat1, s->rstd1, s->norm1);
% else
        residual_norm(rows, block()->input, w->branch, p->norm1_scale, p->norm1_offset, s->xhat1, s->rstd1, s->norm1);
% end
    } else if (phase == LH_CUDA_HIDDEN) {
        add_bias(rows, FEEDFORWARD, p->up_bias, true, s->hidden);
    } else if (phase == LH_CUDA_NORM2) {
        add_bias(rows, WIDTH, p->down_bias, false, w->branch);
% if branch_drops then
        residual_norm(rows, s->norm1, w->branch, ${mask1}, p->norm2_scale,
                p->norm2_offset, s->xhat2, s->rstd2, out);
% else
        residual_norm(rows, s->norm1, w->branch, p->norm2_scale, p->norm2_offset, s->xhat2, s->rstd2, out);
% end
    }
}

/* A phase of the layers' way back. The workspace's gradient is that of the residual stream. */
INLINE void backward_phase(int phase, layer_gradients *g) {
    const layer_parameters *p = &block()->view.p->layer[block()->l];
    const workspace *w = &block()->work;
    const layer_state *s = &block()->layer;
    const int rows = block()->sequences * block()->view.T;
    if (phase == LH_CUDA_NORM2_BACK) {
% if branch_drops then
        residual_norm_grad(rows, mask_at(1), s->xhat2, s->rstd2, p->norm2_scale, g->norm2_scale, g->norm2_offset);
% else
        residual_norm_grad(rows, s->xhat2, s->rstd2, p->norm2_scale, g->norm2_scale, g->norm2_offset);
% end
        column_sums(rows, WIDTH, w->${dbranch}, g->down_bias);
    } else if (phase == LH_CUDA_HIDDEN_BACK) {
        rectify_grad(rows * FEEDFORWARD, s->hidden, w->dhidden);
        column_sums(rows, FEEDFORWARD, w->dhidden, g->up_bias);
    } else if (phase == LH_CUDA_NORM1_BACK) {
% if branch_drops then
        residual_norm_grad(rows, mask_at(0), s->xhat1, s->rstd1, p->norm1_scale, g->norm1_scale, g->norm1_offset);
% else
        residual_norm_grad(rows, s->xhat1, s->rstd1, p->norm1_scale, g->norm1_scale, g->norm1_offset);
% end
    } else if (phase == LH_CUDA_ATTEND_BACK) {
        attend_backward(${cuda.layer_gradients and "g" or ""});
% if rotation.kind == "rope" then
        rotate(-1, w->dquery_key_value);
% end
    }
}

/* A phase of one shard in training. */
INLINE void train_phase(int phase, int shard) {
    const block_state *b = block();
    gradients *g = (gradients *)(b->replica.partials + shard * b->train.partial_stride);
    if (phase == LH_CUDA_EMBED) {
% if drops then
        draw_masks(${eval_dropout and "true" or ""});
% end
        embed(${embedding_drops and asks and "true" or ""});
    } else if (phase == LH_CUDA_CLASSIFY) {
        classify(b->layer.output, true);
        add_up(b->replica.shard_sums + shard);
        classify_backward(b->layer.output, g);
    } else if (phase == LH_CUDA_EMBED_BACK) {
        embed_backward(g);
    } else {
        forward_phase(phase, b->layer.output${branch_drops and asks and ", true" or ""});
        backward_phase(phase, &g->layer[b->l]);
    }
}

/* The end of a step. */
INLINE void end_phase(lh_cuda_result *result) {
    team *t = &block()->members;
    fold_gradients();
    const double squares = gradient_squares(), loss = total_loss();
    const bool finite = update(squares, loss);
    if (t->rank == 0) report(finite, squares, loss, result);
    team_barrier(t);
    if (finite && t->rank == 0) report_update(result);
}

/* One phase of one step of one replica; the team is the whole grid. */
extern "C" __global__ void __launch_bounds__(THREADS, 1)
longhand_train_${symbol}(const lh_cuda_train a, const lh_cuda_place at) {
    block_state *b = block();
    if (threadIdx.x == 0) {
        b->train = a;
        b->replica = a.replicas[0];
        b->members = join_team(a.team, b->replica.arrivals);
        view_step(b, a.steps, b->replica.parameters${tables and ", a.tables" or ""}${cuda.shared and ", b->replica.shared" or ""});
    }
    __syncthreads();
% if cuda.begins then
    if (at.phase == LH_CUDA_BEGIN) return begin_step();
% end
    if (at.phase == LH_CUDA_END) return end_phase(a.results);
    for (int shard = b->members.rank; shard < a.shards; shard += a.team) {
        __syncthreads();
        if (threadIdx.x == 0) {
            take_part(b, 0, b->step.sequences, a.shards, shard, a.workspace, at.layer, true);
% if cuda.sums then
            size_t used = 0;
            lay_out_sums(&b->sums, b->replica.partials + shard * a.partial_stride + GRADIENT_BYTES, &used, b->view.T);
% end
        }
        __syncthreads();
        train_phase(at.phase, shard);
    }
}

% include("cuda/answers.tpl")

/* One phase of a group of examples; every block takes its part of them. */
extern "C" __global__ void __launch_bounds__(THREADS, 1)
longhand_evaluate_${symbol}(const lh_cuda_evaluate a, const lh_cuda_place at) {
    block_state *b = block();
    if (threadIdx.x == 0) {
        const int left = a.step->sequences - at.first, all = left < a.group ? left : a.group;
        view_step(b, a.step, a.parameters${tables and ", a.tables" or ""}${cuda.shared and ", a.shared" or ""});
        b->members = join_team(gridDim.x, a.arrivals);
        take_part(b, at.first, all, gridDim.x, blockIdx.x, a.workspace, at.layer, false);
    }
    __syncthreads();
% if cuda.begins then
    if (at.phase == LH_CUDA_BEGIN) return begin_step();
% end
    if (at.phase == LH_CUDA_EMBED) {
% if eval_dropout then
        draw_masks(false);
% end
        embed(${embedding_drops and asks and "false" or ""});
    } else if (at.phase == LH_CUDA_CLASSIFY) {
        classify(b->work.input, false);
        give_answers(a.answers, (real *)a.logits);
    } else {
        forward_phase(at.phase, b->work.input${branch_drops and asks and ", false" or ""});
    }
}
