% -- The functions of a block of the network. Variables: the fields of an entry of `blocks` (cuda_network.lua), such as
% --   index                 the C variable of the current repetition: `use` if loops > 1, else `l`
% --   layer                 C text of the index of this repetition's parameters
% --   previous_condition   C text, true if the current repetition reads the output of the previous repetition
% local depends_on_mode = forward_reads.training
% local bounds = in_group and { first = "first", past = "past" } or { first = first, past = past }
% -- C texts of numbers of bytes; the C variable `step` is the size of a state:
% --   state_offset   from the first state to the current state
% --   bytes_back     from the previous state to the current state
% -- If is_progressive, repetitions without gradient share state 0; their bytes_back is 0.
% local state_offset, bytes_back = index .. " * step", "step"
% if is_progressive then state_offset, bytes_back = "before", "(before > 0 ? step : 0)" end
% local range_parameters = in_group and "int first, int past" or "void"
% local range_words = (in_group and "%ss first .. past - 1" or "all %ss"):format(name)
% local overwrite_words = overwrites_input and (" Each %s overwrites its input."):format(name) or ""
% local evaluated_input = previous_condition and ("%s ? b->%s.output : %s"):format(previous_condition, name, input) or input
% local mode_parameter = depends_on_mode and "const bool training" or "void"
% include("cuda/block_names.tpl")

/* ${comment}
 * In evaluation input and output are the same array. */ % if overwrites_input
 * In evaluation input and output are the same array, except in the first layer. */ % else
INLINE void ${name}_forward(${mode_parameter}) {
    const workspace *w = &block()->work; % if forward_reads.w
    const ${state} *s = &block()->${name}; % if forward_reads.s
    % include(op.template, op) % for _, op in ipairs(forward)
}

/* Writes the gradients of the ${name}'s parameters${cuda.by_team and ", or stores operands from which products compute them" or ""}.
 * The workspace's `gradient`: on entry the gradient of the ${name}'s output, on return of its input. */
INLINE void ${name}_backward(void) {
    const workspace *w = &block()->work; % if backward_reads.w
    const ${state} *s = &block()->${name}; % if backward_reads.s
    % include(op.template, op) % for _, op in ipairs(backward)
}

/* Sets the addresses of the state and the input of the ${name} with index `${index}`. Called in training. */
INLINE void enter_${name}(int ${index}) {
    block_state *b = block();
    __syncthreads();
    if (threadIdx.x == 0) {
        const size_t step = ${name}_bytes(b->sequences, b->view.T);
        b->l = ${layer};
        b->use = use; % if loops > 1
        const size_t before = ${state_number} * step; % if is_progressive
        lay_out_${name}(&b->${name}, b->work.${name}s, ${state_offset}, b->sequences, b->view.T);
        b->input = ${previous_condition} ? b->${name}.output - ${bytes_back} / sizeof(real) : ${input}; % if previous_condition
        b->input = ${input}; % else
% for _, stream in ipairs(cuda.by_team and device.streams or {}) do
% local rows_before = stream.T:gsub("^T", "rows_before")
        b->${rows_before} = (int)count_rows_before(${index}, b->view.${stream.T});
% end
    }
    __syncthreads();
}

% if decoding then
/* Sets the addresses of the caches of the ${name} with index `${index}`. Called by one thread. */
INLINE void find_${name}_caches(block_state *b, int ${index}) {
% for _, cache in ipairs(decoding.caches) do
    b->${name}.${cache.name} = ${name}_${cache.name}_cache(${index});
% end
}

% end
/* Runs ${range_words} in evaluation, where they share one state.${overwrite_words} */
INLINE void evaluate_${name}s(${range_parameters}) {
    block_state *b = block();
    if (threadIdx.x == 0) {
        lay_out_${name}(&b->${name}, b->work.${name}s, 0, b->sequences, b->view.T);
        b->input = b->${name}.output = ${input}; % if overwrites_input
    }
#pragma unroll 1
    for (int ${index} = ${bounds.first}; ${index} < ${bounds.past}; ${index}++) {
% if overwrites_input and loops == 1 and not decoding then
        if (threadIdx.x == 0) b->l = l;
% else
        if (threadIdx.x == 0) {
            b->l = ${layer};
            b->use = use; % if loops > 1
            b->input = ${evaluated_input}; % if not overwrites_input
            if (b->decodes) find_${name}_caches(b, ${index}); % if decoding
        }
% end
        __syncthreads();
        ${name}_forward(${depends_on_mode and "false" or ""});
    }
}
% if decoding then

/* Applies one ${name} to one token of each sequence, with cached keys and values of earlier tokens. */
INLINE void ${name}_decode(void) {
    const bool training = false; % if decode_reads.training
    const workspace *w = &block()->work; % if decode_reads.w
    const ${state} *s = &block()->${name}; % if decode_reads.s
    % include(op.template, op) % for _, op in ipairs(decoding.list)
}

/* Runs ${range_words} on one token of each sequence. */
INLINE void decode_${name}s(${range_parameters}) {
    block_state *b = block();
#pragma unroll 1
    for (int ${index} = ${bounds.first}; ${index} < ${bounds.past}; ${index}++) {
        if (threadIdx.x == 0) {
            lay_out_${name}(&b->${name}, b->work.${name}s, 0, b->sequences, b->view.T);
            b->l = ${layer};
            b->use = use; % if loops > 1
            b->input = b->${name}.output = ${input}; % if overwrites_input
            b->input = ${evaluated_input}; % if not overwrites_input
% for _, cache in ipairs(decoding.caches) do
            b->${name}.${cache.name} = ${name}_${cache.name}_cache(${index}); % if not cache.is_self_attention
% end
        }
        __syncthreads();
        ${name}_decode();
    }
}
% end
