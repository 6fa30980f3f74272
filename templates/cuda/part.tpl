/* Moves the pointers of a state from sequence 0 to sequence `first`. */
% for _, block in ipairs(device.states) do
INLINE void shift_${block.name}(${block.state} *s, int first, ${device.lengths} T) {
    const size_t ${block.row_declarations.before_first};
    s->${m.name} += ${m.count}; % for _, m in ipairs(block.members)
}

% end
/* Moves the pointers of the workspace from sequence 0 to sequence `first`. In each array, the elements of a shard are
 * contiguous, also if the array has a dimension before [sequences]. */
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
/* Sets b->${block.name} to the state of repetition `${block.index}`, from sequence `first` on. all: the number of sequences in
 * the arrays. Called by one thread. */
INLINE void find_${block.name}(block_state *b, int ${block.index}, int first, int all, const bool training) {
    const size_t before = training ? ${block.state_number} * ${block.name}_bytes(all, b->view.T) : 0;
    lay_out_${block.name}(&b->${block.name}, b->work.${block.plural}, before, all, b->view.T);
    shift_${block.name}(&b->${block.name}, first, b->view.T);
}

% end
% for _, group in ipairs(device.groups) do
/* Enters repetition `${group.index}` of the ${group.name}: sets the state and the input, from sequence `first` on. all: the
 * number of sequences in the arrays. Called by one thread. */
INLINE void enter_${group.name}(block_state *b, int ${group.index}, int first, int all, const bool training) {
    const bool follows = ${group.previous_condition};
    if (follows) find_${group.previous.name}(b, ${group.previous.index}, first, all, training);
    b->${group.name}_input = follows ? b->${group.previous.name}.output : ${group.input};
    find_${group.name}(b, ${group.index}, first, all, training); % if group.members[1]
}

% end
% for _, block in ipairs(device.blocks) do
/* Sets b->${block.name} to the state of repetition `${block.index}`, from sequence `first` on. Returns the repetition's input.
 * all: the number of sequences in the arrays. Called by one thread. */
INLINE real *enter_${block.name}(block_state *b, int ${block.index}, int first, int all, const bool training) {
    const size_t step = ${block.name}_bytes(all, b->view.T);
    lay_out_${block.name}(&b->${block.name}, b->work.${block.plural}, training ? ${block.state_number} * step : 0, all, b->view.T);
    shift_${block.name}(&b->${block.name}, first, b->view.T);
% -- previous_has_state: C text of a condition: whether the previous repetition has its own state
% local previous_has_state = block.is_progressive and "training && " .. block.state_number .. " > 0" or "training"
% if block.overwrites_input then
    if (!training) return b->${block.name}.output = ${block.input};
    if (${block.index} == 0) return ${block.input}; % if block.is_progressive
    return ${previous_has_state} ? b->${block.name}.output - step / sizeof(real) : b->${block.name}.output; % if block.is_progressive
    return ${block.index} > 0 ? b->${block.name}.output - step / sizeof(real) : ${block.input}; % else
% else
% if not block.previous_condition then
    return ${block.input};
% elseif block.in_group then
    if (!(${block.previous_condition})) return ${block.input};
    return ${previous_has_state} ? b->${block.name}.output - step / sizeof(real) : b->${block.name}.output;
% else
    if (${block.index} == 0) return ${block.input};
    return ${previous_has_state} ? b->${block.name}.output - step / sizeof(real) : b->${block.name}.output;
% end
% end
}

% end
% local has_several_blocks = #device.blocks > 1 or device.groups[1] ~= nil
/* Assigns part `index` of a group of sequences to the thread block, with the state of the layer at.layer.
 * A block of layers that does not have the phase at.phase gets the state of its last layer. % if has_several_blocks
 *   group   index of the group's first sequence in the batch
 *   all     number of sequences of the group
 *   parts   number of parts of the group
 * Called by one thread. */
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
