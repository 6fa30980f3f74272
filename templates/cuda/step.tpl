
/* Runs the forward and the backward pass of one shard. Writes the shard's sums and its gradient.${cuda.by_team and "" or " */"}
 * For weights of products, it stores operands instead; add_up_products computes the gradients from them. */ % if cuda.by_team
INLINE void train_shard(int shard) {
    block_state *b = block();
    __syncthreads();
    if (threadIdx.x == 0) {
        char *partial = b->replica.partials + shard * b->train.partial_stride;
% if train.mixes_lengths then
        const int index = view_shard(b, shard), shards = count_shards(b, b->step.sequences);
        const int first = shard_start(b->step.sequences, shards, index);
        const int sequences = shard_start(b->step.sequences, shards, index + 1) - first;
% else
        const int first = shard_start(b->step.sequences, b->train.shards, shard);
        const int sequences = shard_start(b->step.sequences, b->train.shards, shard + 1) - first;
% end
        b->gradient = (parameters *)partial;
        assign_examples(b, first, sequences, true);
        find_operands(b, partial); % if cuda.by_team
% if cuda.has_table_sums then
        size_t used = 0;
        lay_out_sums(&b->sums, partial + PARAMETER_STORAGE * sizeof(real), &used, b->view.T);
% end
    }
    __syncthreads();
    % include(op.template, op) % for _, op in ipairs(device.pass.train)
}
% include("cuda/update.tpl")

/* Trains replicas for a.count steps; a team of thread blocks trains one replica. */
extern "C" __global__ void __launch_bounds__(THREADS, 1)
longhand_train_${symbol}(const lh_cuda_train a) {
    block_state *b = block();
    team *t = &b->members;
    if (threadIdx.x == 0) {
        const int replica = blockIdx.x / a.team;
        b->train = a;
        b->train.steps += replica * a.count * PARTS; % if train.mixes_lengths
        b->train.steps += replica * a.count; % else
        b->train.results += replica * a.count;
        b->replica = a.replicas[replica];
        b->memory = a.workspace + blockIdx.x * a.workspace_stride;
        *t = join_team(a.team, b->replica.arrivals);
    }
% if device.rounds then
    __syncthreads();
    for (int piece = t->rank; piece < PIECES; piece += t->blocks) round_weights(piece);
    team_barrier(t);
% end
    for (int n = 0; n < a.count; n++) {
% if train.mixes_lengths then
        begin_parts(n, a.shards);
        for (int shard = t->rank; shard < b->train.shards; shard += a.team) train_shard(shard);
% else
        __syncthreads();
        if (threadIdx.x == 0) view_step(b, b->train.steps + n, b->replica.parameters${tables and ", a.tables" or ""}${cuda.has_shared_tables and ", b->replica.shared" or ""});
        __syncthreads();
        begin_step(); % if cuda.has_begin_step
        for (int shard = t->rank; shard < a.shards; shard += a.team) train_shard(shard);
% end
        team_barrier(t);
        const double counted = count_labels(); % if task.excludes_masked_labels
        fold_gradients((real)mask_factor(counted)); % if cuda.scales_gradient
        fold_gradients(); % else
        const double squares = sum_list(b->replica.piece_sums, PIECES, 1);
        const double loss = sum_list(&b->replica.shard_sums->loss, b->train.shards, sizeof(lh_cuda_sums) / sizeof(double));
        const bool finite = update(squares, loss, counted);
        lh_cuda_result *result = b->train.results + n;
        const bool reports = t->rank == t->blocks - 1; /* this block has the fewest pieces to update */
        if (reports) report(finite, squares, loss, result);
        team_barrier(t);
        if (!finite) return;
        if (reports) report_update(result);
    }
}

% include("cuda/answers.tpl")
% if device.decoding then

% include("cuda/decode.tpl")
% end

/* Evaluates models on examples; a team of thread blocks evaluates one model. */
extern "C" __global__ void __launch_bounds__(THREADS, 2)
longhand_evaluate_${symbol}(const lh_cuda_evaluate a) {
    block_state *b = block();
    if (threadIdx.x == 0) {
        const int model = blockIdx.x / a.team;
        view_step(b, a.steps + model, a.parameters[model]${tables and ", a.tables" or ""}${cuda.has_shared_tables and ", a.shared + model * a.shared_stride" or ""});
        b->members = join_team(a.team, a.arrivals + model);
        b->memory = a.workspace + blockIdx.x * a.workspace_stride;
        b->decodes = a.decodes; % if device.decoding
        b->before = model * a.sequences; % if device.decoding
    }
    __syncthreads();
    begin_step(); % if cuda.has_begin_step
    const int end = a.end < b->step.sequences ? a.end : b->step.sequences;
    /* The increment reads b->first, which is equal to `first`, so no register holds `first` across the calls. */
    for (int first = a.first + b->members.rank * a.group; first < end; first = b->first + a.team * a.group) {
        __syncthreads();
        if (threadIdx.x == 0) {
            const int left = end - first;
            assign_examples(b, first, left < a.group ? left : a.group, false);
            if (a.decodes) find_caches(b); % if device.decoding
        }
        __syncthreads();
% -- last_block: the index of the last record that runs layers; decoding begins after it
% local last_block = 0
% for i, op in ipairs(device.pass.evaluate) do
% if op.kind == "block" then last_block = i end
% end
% for i, op in ipairs(device.pass.evaluate) do
        % include(op.template, op)
% if device.decoding and i == last_block then
        if (a.decodes) {
            decode(a.ending, (real *)a.logits, a.classes);
            continue;
        }
% end
% end
    }
}
