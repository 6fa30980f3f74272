% local asks = drops and not eval_dropout
% local flag, passed = asks and "const bool training" or "void", asks and "true" or ""
% include("cuda/block_names.tpl")

/* ${comment}
% if in_place then
 * In evaluation input and output are one. */
% else
 * In evaluation all but the first have input and output in one place. */
% end
INLINE void ${name}_forward(${flag}) {
    const workspace *w = &block()->work;
    const ${state} *s = &block()->${name};
% for _, op in ipairs(forward) do
    % include(op.template, op)
% end
}

/* The workspace's gradient: of the ${name}'s output on entry, of its input on return. Every gradient of its parameters
 * is written. */
INLINE void ${name}_backward(void) {
    const workspace *w = &block()->work;
    const ${state} *s = &block()->${name};
% for _, op in ipairs(backward) do
    % include(op.template, op)
% end
}

/* Makes ${name} l of a shard in training the block's. */
INLINE void enter_${name}(int l) {
    block_state *b = block();
    __syncthreads();
    if (threadIdx.x == 0) {
        const size_t step = ${name}_bytes(b->sequences, b->view.T);
        size_t used = l * step;
        b->l = l;
        lay_out_${name}(&b->${name}, b->work.${name}s, &used, b->sequences, b->view.T);
        b->input = l > 0 ? b->${name}.output - step / sizeof(real) : ${first};
    }
    __syncthreads();
}

INLINE void forward_${name}s(void) {
#pragma unroll 1
    for (int l = 0; l < ${count}; l++) {
        enter_${name}(l);
        ${name}_forward(${passed});
    }
}

INLINE void backward_${name}s(void) {
#pragma unroll 1
    for (int l = ${count} - 1; l >= 0; l--) {
        if (l + 1 < ${count}) enter_${name}(l);
        ${name}_backward();
    }
}

/* In evaluation all of them share one state${in_place and ", and work in place" or ""}. */
INLINE void evaluate_${name}s(void) {
    block_state *b = block();
    if (threadIdx.x == 0) {
        size_t used = 0;
        lay_out_${name}(&b->${name}, b->work.${name}s, &used, b->sequences, b->view.T);
% if in_place then
        b->input = b->${name}.output = ${first};
% end
    }
#pragma unroll 1
    for (int l = 0; l < ${count}; l++) {
% if in_place then
        if (threadIdx.x == 0) b->l = l;
% else
        if (threadIdx.x == 0) {
            b->l = l;
            b->input = l > 0 ? b->${name}.output : ${first};
        }
% end
        __syncthreads();
        ${name}_forward(${asks and "false" or ""});
    }
}
