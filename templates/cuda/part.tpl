/* Advances the pointers of a state to sequence `first`; its arrays hold all sequences. */
% for _, block in ipairs(device.states) do
INLINE void shift_${block.name}(${block.state} *s, int first, ${device.lengths} T) {
    const size_t ${block.row_declarations.before_first};
    s->${m.name} += ${m.count}; % for _, m in ipairs(block.members)
}

% end
/* Advances the pointers of the workspace to sequence `first`; its arrays hold all sequences. Masks, and arrays with a
 * dimension before [sequences], are stored shard after shard: each shard's part has the layout of an array for this shard
 * alone. */
INLINE void shift_work(workspace *w, int first, ${device.lengths} T, int label_count, const bool training) {
    const size_t ${device.row_declarations.before_first}, labels = (size_t)first * label_count;
    w->${m.name} += ${m.count}; % for _, m in ipairs(device.always)
    w->logits += labels * CLASS_COLUMNS;
    w->losses += labels;
    w->uncertainties += labels; % if device.has_passes
    w->correct += labels;
    w->keep += DROPOUT_SITES * ${device.max_rows.text} * (WIDTH / 8); % if eval_dropout and device.masks[1]
    w->${m.name} += ${m.repetitions_text} * first * ${m.name}_bytes(T); % for _, m in ipairs(eval_dropout and device.bits or {})
    if (!training) return;
    w->keep += DROPOUT_SITES * ${device.max_rows.text} * (WIDTH / 8); % if device.masks[1] and not eval_dropout
    w->${m.name} += ${m.repetitions_text} * first * ${m.name}_bytes(T); % for _, m in ipairs(eval_dropout and {} or device.bits)
    w->${m.name} += ${m.count}; % for _, m in ipairs(device.training)
}

% for _, block in ipairs(device.groups[1] and device.states or {}) do
/* Sets the addresses of the state of the ${block.name} with index `${block.index}`, for the sequences from `first` on. all: the
 * number of sequences in the arrays. Called by one thread. */
INLINE void find_${block.name}(block_state *b, int ${block.index}, int first, int all, const bool training) {
    const size_t before = training ? ${block.state_number} * ${block.name}_bytes(all, b->view.T) : 0;
    lay_out_${block.name}(&b->${block.name}, b->work.${block.plural}, before, all, b->view.T);
    shift_${block.name}(&b->${block.name}, first, b->view.T);
}

% end
% for _, group in ipairs(device.groups) do
/* Sets the addresses of the state and the input of the ${group.name} with index `${group.index}`, for the sequences from
 * `first` on. all: the number of sequences in the arrays. Called by one thread. */
INLINE void enter_${group.name}(block_state *b, int ${group.index}, int first, int all, const bool training) {
    const bool follows = ${group.follows_condition};
    if (follows) find_${group.previous.name}(b, ${group.previous.index}, first, all, training);
    b->${group.name}_input = follows ? b->${group.previous.name}.output : ${group.input};
    find_${group.name}(b, ${group.index}, first, all, training); % if group.members[1]
}

% end
% for _, block in ipairs(device.blocks) do
/* Sets the addresses of the state of the ${block.name} with index `${block.index}`, for the sequences from `first` on, and returns
 * the address of its input. all: the number of sequences in the arrays. Called by one thread. */
INLINE real *enter_${block.name}(block_state *b, int ${block.index}, int first, int all, const bool training) {
    const size_t step = ${block.name}_bytes(all, b->view.T);
    lay_out_${block.name}(&b->${block.name}, b->work.${block.plural}, training ? ${block.state_number} * step : 0, all, b->view.T);
    shift_${block.name}(&b->${block.name}, first, b->view.T);
% -- previous_has_state: a condition in C: whether the previous repetition has its own state
% local previous_has_state = block.is_progressive and "training && " .. block.state_number .. " > 0" or "training"
% if block.overwrites_input then
    if (!training) return b->${block.name}.output = ${block.input};
    if (${block.index} == 0) return ${block.input}; % if block.is_progressive
    return ${previous_has_state} ? b->${block.name}.output - step / sizeof(real) : b->${block.name}.output; % if block.is_progressive
    return ${block.index} > 0 ? b->${block.name}.output - step / sizeof(real) : ${block.input}; % else
% else
% if not block.follows_condition then
    return ${block.input};
% elseif block.in_group then
    if (!(${block.follows_condition})) return ${block.input};
    return ${previous_has_state} ? b->${block.name}.output - step / sizeof(real) : b->${block.name}.output;
% else
    if (${block.index} == 0) return ${block.input};
    return ${previous_has_state} ? b->${block.name}.output - step / sizeof(real) : b->${block.name}.output;
% end
% end
}

% end
% local has_several_blocks = #device.blocks > 1 or device.groups[1] ~= nil
% local other_words = has_several_blocks and ", and to the last layers of other blocks" or ""
/* Cuts `all` sequences into `parts` parts, assigns part `index` to the thread block, and makes the thread block's
 * state point to the layer that `at` names${other_words}. The first of these sequences has the index
 * `group` in the batch. Called by one thread. */
INLINE void assign_part(block_state *b, int group, int all, int parts, int index, char *memory, lh_cuda_place at,
        const bool training) {
% if streams[2] then
    const lengths T = b->view.T;
    const int label_count = b->view.label_count, first = shard_start(all, parts, index);
% else
    const int T = b->view.T, label_count = b->view.label_count, first = shard_start(all, parts, index);
% end
    const size_t in_batch = group + first;
    b->first = in_batch;
    b->sequences = shard_start(all, parts, index + 1) - first;
% for _, stream in ipairs(device.streams) do
    b->${stream.tokens} = b->step.tokens[${stream.index}] + in_batch * ${stream.T};
% end
    b->labels = b->step.labels + in_batch * label_count;
    b->mask = b->step.mask + in_batch * label_count;
    b->place = b->step.place + in_batch * label_count; % if readout == "probe"
    lay_out(&b->work, memory, all, T, label_count, training);
    shift_work(&b->work, first, T, label_count, training);
    b->use = at.layer; % if device.has_loops
    real *input; % if has_several_blocks
% for _, scope in ipairs(device.groups[1] and device.scopes or {}) do
    const bool in_${scope.name} = at.phase >= ${scope.first_phase} && at.phase <= ${scope.last_phase}; % if scope.first_phase
% end
% for i = #device.groups, 1, -1 do
% local group = device.groups[i]
    const int ${group.index} = ${group.number};
    enter_${group.name}(b, ${group.index}, first, all, training);
% end
% for _, block in ipairs(device.blocks) do
% local layer = block.loops > 1 and "at.layer % " .. block.count or "at.layer"
% if not block.first_phase then
    /* No phase processes the ${block.name}: all its operations are products. */
    enter_${block.name}(b, ${block.last}, first, all, training);
% elseif has_several_blocks then
    const bool in_${block.name} = at.phase >= ${block.first_phase} && at.phase <= ${block.last_phase}; % if not device.groups[1]
    input = enter_${block.name}(b, in_${block.name} ? at.layer : ${block.last}, first, all, training);
    if (in_${block.name}) {
        b->input = input;
        b->l = ${layer};
    }
% else
    b->input = enter_${block.name}(b, at.layer, first, all, training);
    b->l = ${layer};
% end
% end
}
