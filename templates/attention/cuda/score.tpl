% local c = score.cuda
% for _, list in ipairs(score.constants) do
% if #list.lines == 1 and #list.name + #list.lines[1] < 80 then
static __device__ const real ${list.name}[] = {${list.lines[1]}};
% else
static __device__ const real ${list.name}[] = {
% for _, line in ipairs(list.lines) do
        ${line},
% end
};
% end
% end
% if score.constants[1] then

% end
enum { ${PREFIX}SCORE_STAGES = ${c.stage_count} };

% if c.stages[1] then
% if c.stages[2] then
/* Fills the tables of a stage${c.of_layer}: of each the entries first, first + stride, ... A stage reads what
 * those before it have made. */
% else
/* Fills the tables${c.of_layer}: of each the entries first, first + stride, ... */
% end
INLINE void ${prefix}make_score(${c.make.arguments}) {
% if c.make.uses.p then
    const parameters *p = v->p;
% end
% if c.make.uses.position then
    const int *position = ${prefix}positions_of(v, l);
% end
% if c.make.uses.key_position then
    const int *key_position = ${prefix}key_positions_of(v, l);
% end
% if c.make.uses.drawn then
    const int *drawn = ${prefix}distances_of(v, l);
% end
% if c.make.uses.T then
    const int T = v->${attends.T};
% end
% if c.make.uses.S then
    const int S = v->${attends.S};
% end
% for _, stage in ipairs(c.stages) do
% if c.stages[2] then
    if (stage == ${stage.number}) {
% for _, nest in ipairs(stage) do
        % include("attention/cuda/score_nest.tpl", { nest = nest })
% end
    }
% else
% for _, nest in ipairs(stage) do
    % include("attention/cuda/score_nest.tpl", { nest = nest })
% end
% end
% end
}

% end
/* The score of a pair: head h, query i, key j. */
INLINE real ${prefix}score_pair(${c.pair_arguments}) {
    % include("parts/statements.tpl", { list = c.pair })
}
% if c.logit_grad then

/* From the gradient of a pair's score that of its logit. */
INLINE real ${prefix}score_logit_grad(${c.logit_arguments}) {
    % include("parts/statements.tpl", { list = c.logit_grad })
}
% end
% for _, list in ipairs(c.lists) do

/* From the gradient of a pair's score that of ${list.about}, added to out. */
INLINE void ${prefix}score_grad_${list.class}(${list.arguments}) {
    % include("parts/statements.tpl", { list = list.statements })
}
% end
% if score.trains then

% if c.finish.needs then
/* Takes the gradients of a set of tables back to the parameters: all threads of one block. They need
 * ${c.finish.needs}. */
% else
/* Takes the gradients of a set of tables back to the parameters: all threads of one block. */
% end
INLINE void ${prefix}end_score(${c.finish.arguments},
        ${c.finish.more_arguments}) {
% if c.finish.uses.p then
    const parameters *p = v->p;
% end
% if c.finish.uses.position then
    const int *position = ${prefix}positions_of(v, l);
% end
% if c.finish.uses.key_position then
    const int *key_position = ${prefix}key_positions_of(v, l);
% end
% if c.finish.uses.drawn then
    const int *drawn = ${prefix}distances_of(v, l);
% end
% if c.finish.uses.T then
    const int T = v->${attends.T};
% end
% if c.finish.uses.S then
    const int S = v->${attends.S};
% end
% if c.finish.uses.stride then
    const int first = (int)threadIdx.x, stride = THREADS;
% elseif c.back[1] then
    const int first = (int)threadIdx.x;
% end
% if c.finish.uses.w then
    ${prefix}score_work w;
    size_t used = 0;
    ${prefix}lay_out_score_work(&w, (char *)scratch, &used, ${cross and "T, S" or "T"});
% end
% for _, sum in ipairs(c.uniform_work) do
    if (first < ${sum.extent}) ${sum.array}[first] = 0;
% end
% for _, nest in ipairs(c.back) do
% if nest.block then
    {
        % include("attention/cuda/score_back.tpl", { nest = nest })
    }
% else
    % include("attention/cuda/score_back.tpl", { nest = nest })
% end
% end
}
% end
