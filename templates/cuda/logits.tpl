% local weight = device.class_table and "v->p->" .. device.class_table .. " + (OUTPUT_TOKEN + c) * WIDTH" or "v->p->output + c"
% local bias = device.class_table and "0" or "v->p->output_bias[c]"
% local weight_index = device.class_table and "k + i" or "(k + i) * CLASS_COLUMNS"
% if decodes then
/* Computes the logits of the tokens in rows of x into the workspace, with one thread per token and class. */
% else
/* Computes the logits of the labelled tokens into the workspace, with one thread per token and class. */
% end
INLINE void make_logits${decodes and "_one" or ""}(const real *x, int count) {
    assume_global(x);
    const step_view *v = &block()->view;
    for (int e = threadIdx.x; e < count * CLASSES; e += THREADS) {
        const int n = e / CLASSES, c = e % CLASSES;
        const real *row = x + ${decodes and "n" or "find_labelled_row(v, n)"} * WIDTH, *weight = ${weight};
        real logit = ${bias};
#pragma unroll 4
        for (int k = 0; k < WIDTH; k += 4) {
            const quad part = *(const quad *)(row + k);
#pragma unroll
            for (int i = 0; i < 4; i++) logit += part.v[i] * weight[${weight_index}];
        }
        block()->work.logits[n * CLASS_COLUMNS + c] = logit;
    }
    __syncthreads();
}
