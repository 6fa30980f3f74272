% include("cuda/update.tpl")

/* Runs one phase for a shard in training. */
INLINE void train_phase(int phase, int shard) {
    const block_state *b = block();
    % include("cuda/phase_choice.tpl", device.pass.train)
% for _, layers in ipairs(device.blocks) do
% if layers.forward.phases[1] then
    % call(layers.name .. "_forward_phase", "phase", layers.has_dropout and not eval_dropout and "true")
% end
    ${layers.name}_backward_phase(phase); % if layers.backward.phases[1]
% end
% for _, group in ipairs(device.groups) do
    ${group.name}_forward_phase(phase); % if group.forward.phases[1]
    ${group.name}_backward_phase(phase); % if group.backward.phases[1]
% if group.loss_phases then
    if (phase == ${group.loss_phases.forward}) {
        const int ${group.index} = b->use; /* index of the current repetition */
        % include("cuda/op/pass_loss.tpl", group)
    } else if (phase == ${group.loss_phases.backward}) {
        add_branch(all_rows(), ${group.gradient}, b->${group.name}.loss_gradient, ${group.gradient});
    }
% end
% end
}

/* Ends a step: folds the gradients of shards, clips, updates and reports. */
INLINE void end_phase(lh_cuda_result *result) {
    const block_state *b = block();
    team *t = &block()->members;
    const double counted = count_labels(); % if task.excludes_masked_labels
    fold_gradients((real)mask_factor(counted)); % if cuda.scales_gradient
    fold_gradients(); % else
    const double squares = sum_list(b->replica.piece_sums, PIECES, 1);
    const double loss = sum_list(&b->replica.shard_sums->loss, b->train.shards, sizeof(lh_cuda_sums) / sizeof(double));
    const bool finite = update(squares, loss, counted);
    if (t->rank == 0) report(finite, squares, loss, result);
    team_barrier(t);
    if (finite && t->rank == 0) report_update(result);
}

/* Runs one phase of one step of one replica; the team is the whole grid. */
extern "C" __global__ void __launch_bounds__(THREADS, 1)
longhand_train_${symbol}(const lh_cuda_train a, const lh_cuda_place at) {
    /* If the preceding step failed, this step is skipped. */
    if (at.before && at.before->state != LH_CUDA_DONE) return;
    block_state *b = block();
    if (threadIdx.x == 0) {
        b->train = a;
        b->replica = a.replicas[0];
        b->members = join_team(a.team, b->replica.arrivals);
        view_step(b, a.steps, b->replica.parameters${tables and ", a.tables" or ""}${cuda.has_shared_tables and ", b->replica.shared" or ""});
    }
    __syncthreads();
    if (at.phase == LH_CUDA_BEGIN) return begin_step(); % if cuda.has_begin_step
    if (at.phase == LH_CUDA_END) return end_phase(a.results);
    for (int shard = b->members.rank; shard < a.shards; shard += a.team) {
        __syncthreads();
        if (threadIdx.x == 0) {
            assign_part(b, 0, b->step.sequences, a.shards, shard, a.workspace, at, true);
            b->gradient = (gradients *)(b->replica.partials + shard * a.partial_stride);
% if cuda.has_table_sums then
            size_t used = 0;
            lay_out_sums(&b->sums, b->replica.partials + shard * a.partial_stride + GRADIENT_BYTES, &used, b->view.T);
% end
        }
        __syncthreads();
        train_phase(at.phase, shard);
    }
}

% include("cuda/answers.tpl")

/* Runs one phase for a group of examples; every thread block takes a part of the group. */
extern "C" __global__ void __launch_bounds__(THREADS, 1)
longhand_evaluate_${symbol}(const lh_cuda_evaluate a, const lh_cuda_place at) {
    block_state *b = block();
    if (threadIdx.x == 0) {
        const int left = a.steps->sequences - at.first, all = left < a.group ? left : a.group;
        view_step(b, a.steps, a.parameters[0]${tables and ", a.tables" or ""}${cuda.has_shared_tables and ", a.shared" or ""});
        b->members = join_team(gridDim.x, a.arrivals);
        assign_part(b, at.first, all, gridDim.x, blockIdx.x, a.workspace, at, false);
    }
    __syncthreads();
    if (at.phase == LH_CUDA_BEGIN) return begin_step(); % if cuda.has_begin_step
    const int phase = at.phase;
    % include("cuda/phase_choice.tpl", device.pass.evaluate)
% for _, layers in ipairs(device.blocks) do
% if layers.forward.phases[1] then
    % call(layers.name .. "_forward_phase", "phase", layers.has_dropout and not eval_dropout and "false")
% end
% end
% for _, group in ipairs(device.groups) do
    ${group.name}_forward_phase(phase); % if group.forward.phases[1]
% end
}
