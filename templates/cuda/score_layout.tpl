% local c = score.cuda
/* What the score reads in the pair loop: tables that all sequences of a batch share, made once per step.
% if c.extents.distance then
 * A table by query - key starts T - 1 elements before its pointer.
% end
 */
typedef struct score_tables {
% if c.extents.tokens then
    int tokens; /* T: elements of one head by query or key */
% end
% if c.extents.distances then
    int distances; /* 2 T - 1: elements of one head by query - key or query + key */
% end
% if c.extents.pairs then
    size_t pairs; /* T^2 */
% end
% for _, t in ipairs(c.tables) do
    reals ${t.name};${t.about}
% end
} score_tables;

/* Places a set of tables for T tokens into memory; NULL only counts. */
INLINE void lay_out_score(score_tables *s, char *memory, size_t *used, int T) {
% if not c.tables[1] then
    (void)memory;
    (void)used;
% elseif not c.extents.tokens and not c.extents.distances then
    (void)T;
% end
    % include("cuda/score_members.tpl", { set = "s", members = c.tables, extents = c.extents })
}

INLINE size_t score_bytes(int T) {
    score_tables s;
    size_t bytes = 0;
    lay_out_score(&s, (char *)0, &bytes, T);
    return bytes;
}
% if score.trains then

/* The gradients that the pair loop gathers for a set of tables, those of each head by themselves. */
typedef struct score_gradients {
% if c.gradient_extents.tokens then
    int tokens; /* as in score_tables */
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
} score_gradients;

INLINE void lay_out_score_gradients(score_gradients *d, char *memory, size_t *used, int T) {
% if not c.gradients[1] then
    (void)memory;
    (void)used;
% elseif not c.gradient_extents.tokens and not c.gradient_extents.distances then
    (void)T;
% end
    % include("cuda/score_members.tpl", { set = "d", members = c.gradients, extents = c.gradient_extents })
}

INLINE size_t score_gradient_bytes(int T) {
    score_gradients d;
    size_t bytes = 0;
    lay_out_score_gradients(&d, (char *)0, &bytes, T);
    return bytes;
}
% end
% if c.work[1] then

/* The room of end_score. */
typedef struct score_work {
% for _, w in ipairs(c.work) do
    ${w.type} *${w.name};
% end
} score_work;

INLINE void lay_out_score_work(score_work *w, char *memory, size_t *used, int T) {
% if not c.work_grows then
    (void)T;
% end
% for _, w in ipairs(c.work) do
    w->${w.name} = (${w.type} *)take(memory, used, ${w.count} * sizeof(${w.type}));
% end
}
% end
% if score.trains then

/* Elements of end_score's room. */
INLINE size_t score_scratch(int T) {
% if c.work[1] then
    score_work w;
    size_t bytes = 0;
    lay_out_score_work(&w, (char *)0, &bytes, T);
    return bytes / sizeof(real);
% else
    (void)T;
    return 0;
% end
}
% end
