% local c, lengths, T_S = score.cuda, cross and "int T, int S" or "int T", cross and "T, S" or "T"
/* What the score reads in the pair loop: tables that all sequences of a batch share, made once per step.
% if c.extents.distance then
 * A table by query - key starts ${cross and "S" or "T"} - 1 elements before its pointer.
% end
 */
typedef struct ${prefix}score_tables {
% if c.extents.tokens then
    int tokens; /* T: elements of one head by query${cross and "" or " or key"} */
% end
% if c.extents.keys then
    int keys; /* S: elements of one head by key */
% end
% if c.extents.distances then
    int distances; /* ${cross and "T + S" or "2 T"} - 1: elements of one head by query - key or query + key */
% end
% if c.extents.pairs then
    size_t pairs; /* ${cross and "T S" or "T^2"} */
% end
% for _, t in ipairs(c.tables) do
    reals ${t.name};${t.about}
% end
} ${prefix}score_tables;

/* Places a set of tables for T tokens into memory; NULL only counts. */
INLINE void ${prefix}lay_out_score(${prefix}score_tables *s, char *memory, size_t *used, ${lengths}) {
% if not c.tables[1] then
    (void)memory;
    (void)used;
% end
% if not c.extents.tokens and not c.extents.distances then
    (void)T;
% end
% if cross and not c.extents.keys and not c.extents.distances and not c.extents.pairs then
    (void)S;
% end
    % include("attention/cuda/score_members.tpl", { set = "s", members = c.tables, extents = c.extents })
}

INLINE size_t ${prefix}score_bytes(${lengths}) {
    ${prefix}score_tables s;
    size_t bytes = 0;
    ${prefix}lay_out_score(&s, (char *)0, &bytes, ${T_S});
    return bytes;
}
% if score.trains then

/* The gradients that the pair loop gathers for a set of tables, those of each head by themselves. */
typedef struct ${prefix}score_gradients {
% if c.gradient_extents.tokens then
    int tokens; /* as in score_tables */
% end
% if c.gradient_extents.keys then
    int keys;
% end
% if c.gradient_extents.distances then
    int distances;
% end
% if c.gradient_extents.pairs then
    size_t pairs;
% end
% for _, t in ipairs(c.gradients) do
    reals ${t.name};${t.about}
% end
} ${prefix}score_gradients;

INLINE void ${prefix}lay_out_score_gradients(${prefix}score_gradients *d, char *memory, size_t *used, ${lengths}) {
% if not c.gradients[1] then
    (void)memory;
    (void)used;
% end
% if not c.gradient_extents.tokens and not c.gradient_extents.distances then
    (void)T;
% end
% if cross and not c.gradient_extents.keys and not c.gradient_extents.distances and not c.gradient_extents.pairs then
    (void)S;
% end
    % include("attention/cuda/score_members.tpl", { set = "d", members = c.gradients, extents = c.gradient_extents })
}

INLINE size_t ${prefix}score_gradient_bytes(${lengths}) {
    ${prefix}score_gradients d;
    size_t bytes = 0;
    ${prefix}lay_out_score_gradients(&d, (char *)0, &bytes, ${T_S});
    return bytes;
}
% end
% if c.work[1] then

/* The room of end_score. */
typedef struct ${prefix}score_work {
% for _, w in ipairs(c.work) do
    ${w.type} *${w.name};
% end
} ${prefix}score_work;

INLINE void ${prefix}lay_out_score_work(${prefix}score_work *w, char *memory, size_t *used, ${lengths}) {
% if not c.work_grows then
    (void)T;
% end
% if cross and not c.work_by_keys then
    (void)S;
% end
% for _, w in ipairs(c.work) do
    w->${w.name} = (${w.type} *)take(memory, used, ${w.count} * sizeof(${w.type}));
% end
}
% end
% if score.trains then

/* Elements of end_score's room. */
INLINE size_t ${prefix}score_scratch(${lengths}) {
% if c.work[1] then
    ${prefix}score_work w;
    size_t bytes = 0;
    ${prefix}lay_out_score_work(&w, (char *)0, &bytes, ${T_S});
    return bytes / sizeof(real);
% else
    (void)T;
% if cross then
    (void)S;
% end
    return 0;
% end
}
% end
