% include("parts/banner.tpl", { template = "cpu/trace.inc.tpl", lines = comments.trace })

% if attentions[1] then
/* A traced pass calls the functions of evaluation, so its results equal those of an evaluation. After each layer, scores and
 * weights of attention are recomputed from the queries and keys in the workspace, and stored. */
% else
/* A traced pass calls the functions of evaluation, so its results equal those of an evaluation. */
% end

% paragraph("attention/cpu/trace.tpl", family) % for _, family in ipairs(attentions)
% if streams[2] then
static void trace_activation(int tokens, const real *x, const lh_trace *to) {
    if (to->activation) memcpy(to->activation, x, (size_t)tokens * WIDTH * sizeof(real));
}
% elseif is_step_major then
/* Stores x [step][sequence][WIDTH] sequence by sequence. */
static void trace_activation(const workspace *w, const real *x, const lh_trace *to) {
    real *out = to->activation;
    if (!out) return;
    for (int s = 0; s < w->sequences; s++)
        for (int t = 0; t < w->length; t++, out += WIDTH)
            memcpy(out, x + ((size_t)t * (size_t)w->sequences + (size_t)s) * WIDTH, WIDTH * sizeof(real));
}
% else
static void trace_activation(const workspace *w, const real *x, const lh_trace *to) {
    if (to->activation) memcpy(to->activation, x, (size_t)w->tokens * WIDTH * sizeof(real));
}
% end

/* to: memory for each traced value, in the order of the list `sites` in spec.c. */
static void trace_block(const lh_cpu_step *step, const lh_cpu_block *block, void *memory, const lh_trace *to,
        lh_sums *sums) {
    const parameters *p = step->parameters; % if cpu.pass.reads_parameters
    const bool train = step->mode == LH_MODE_TRAIN; % if cpu.pass.depends_on_mode
    workspace w;
    start_block(&w, step, block, memory, LH_MODE_EVALUATE);
    w.read = w.all; /* all queries and outputs are traced */ % if cpu.unused_rows
    % include(op.template, op) % for _, op in ipairs(cpu.pass.trace)
}
