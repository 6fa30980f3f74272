% include("parts/scalar_constants.tpl", { scalar = scalar, device = "__device__ " })
% if scalar.cuda.stages[1] then
% if scalar.cuda.stages[2] then
enum { ${PREFIX}SCORE_STAGES = ${scalar.cuda.stage_count} };

% end
% local stage_words = scalar.cuda.stages[2] and " in one stage. A stage reads the tables of earlier stages" or ""
/* Fills the entries `first`, `first + stride`, ... of each table${scalar.cuda.layer_words}${stage_words}. */
INLINE void ${prefix}make_score(int stage, const step_view *v, int l, const ${prefix}score_tables *s, int first,
        int stride) {
    % include("attention/cuda/scalar_names.tpl", { uses = scalar.cuda.filling.uses })
% for _, stage in ipairs(scalar.cuda.stages) do
% if scalar.cuda.stages[2] then
    if (stage == ${stage.number}) {
        % include("attention/cuda/scalar_nest.tpl", { nest = nest }) % for _, nest in ipairs(stage)
    }
% else
    % include("attention/cuda/scalar_nest.tpl", { nest = nest }) % for _, nest in ipairs(stage)
% end
% end
}

% end
% for _, sum in ipairs(scalar.cuda.row_sums or {}) do
/* Returns a pair's term in a sum over keys, from its scaled logit. */
INLINE real ${prefix}score_${sum.name}(const ${prefix}score_tables *s, const real *r, int T, int S, int h, int i, int j, real logit) {
    % include("parts/statements.tpl", { list = sum.term })
}

% end
/* Returns the score of the pair of query i and key j in head h, from its scaled logit${scalar.row_sums and " and its sums over keys" or ""}. */
INLINE real ${prefix}score_pair(const ${prefix}score_tables *s, const real *r, int T, int S, int h, int i, int j, const real *sums,
        real logit) {
    % include("parts/statements.tpl", { list = scalar.cuda.pair })
}
% if scalar.cuda.logit_grad then

/* Returns the gradient of a pair's logit. dscore: the gradient of the pair's score. */
INLINE real ${prefix}score_logit_grad(const ${prefix}score_tables *s, const real *r, int T, int S, int h, int i, int j, const real *sums, const real *dsums, real logit,
        real dscore) {
    % include("parts/statements.tpl", { list = scalar.cuda.logit_grad })
}
% end
% if scalar.row_sums and scalar.row_sums.has_gradients then

/* Adds the gradients of a pair's sums over keys to dsums. dscore: the gradient of the pair's score. */
INLINE void ${prefix}score_grad_sums(const ${prefix}score_tables *s, const real *r, int T, int S, int h, int i, int j, const real *sums,
        real logit, real dscore, real *dsums) {
    % include("parts/statements.tpl", { list = scalar.cuda.row_sums.gradients })
}
% end
% for _, gathered in ipairs(scalar.cuda.lists) do

/* Adds the gradients of ${gathered.names} to out. dscore: the gradient of a pair's score. */
INLINE void ${prefix}score_grad_${gathered.class}(const ${prefix}score_tables *s, const real *r, int T, int S, int h, int i, int j,
        const real *sums, const real *dsums, real logit, real dscore, real *out) {
    % include("parts/statements.tpl", { list = gathered.statements })
}
% end
% if scalar.has_trained_tables then

/* Converts the gradients of a set of tables to gradients of the parameters. All threads of one block call it${scalar.cuda.ending.scratch_words}. */
INLINE void ${prefix}end_score(const step_view *v, int l, const ${prefix}score_tables *s,
        const ${prefix}${scalar.cuda.gradient_set.type} *d, parameters *g, real *scratch, real *staging) {
    % include("attention/cuda/scalar_names.tpl", { uses = scalar.cuda.ending.uses })
    const int first = (int)threadIdx.x, stride = THREADS;
% if scalar.cuda.ending.uses.w then
    ${prefix}score_work w;
    size_t used = 0;
    ${prefix}lay_out_score_work(&w, (char *)scratch, &used, T, S);
% end
    if (first < ${sum.extent}) ${sum.array}[first] = 0; % for _, sum in ipairs(scalar.cuda.uniform_work)
% for _, nest in ipairs(scalar.cuda.gradient_nests) do
% if nest.has_scope and scalar.cuda.gradient_nests[2] then
    {
        % include("attention/cuda/scalar_back.tpl", { nest = nest })
    }
% else
    % include("attention/cuda/scalar_back.tpl", { nest = nest })
% end
% end
}
% end
