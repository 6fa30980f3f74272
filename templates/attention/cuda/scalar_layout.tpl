% local c = scalar.cuda
/* Tables that the score reads in the pair loop; all sequences of a batch share them, and they are made once per step.
% if c.starts_behind then
 * A table by query - key starts ${attends.keys} - 1 elements before its pointer.
% end
 */
typedef struct ${prefix}score_tables {
    % include("attention/cuda/scalar_members.tpl", { members = c.tables, numbers = c.numbers })
} ${prefix}score_tables;

/* Places a set of tables for T tokens into memory; NULL only counts. */
INLINE void ${prefix}lay_out_score(${prefix}score_tables *s, char *memory, size_t *used, int T, int S) {
    % include("attention/cuda/scalar_places.tpl", { set = "s", members = c.tables, numbers = c.numbers, behind = c.starts_behind })
}

INLINE size_t ${prefix}score_bytes(int T, int S) {
    ${prefix}score_tables s;
    size_t bytes = 0;
    ${prefix}lay_out_score(&s, NULL, &bytes, T, S);
    return bytes;
}
% if scalar.trains then

/* The gradients that the pair loop gathers for a set of tables, those of each head by themselves. */
typedef struct ${prefix}score_gradients {
    % include("attention/cuda/scalar_members.tpl", { members = c.gradients, numbers = c.gradient_numbers })
} ${prefix}score_gradients;

INLINE void ${prefix}lay_out_score_gradients(${prefix}score_gradients *d, char *memory, size_t *used, int T, int S) {
    % include("attention/cuda/scalar_places.tpl", { set = "d", members = c.gradients, numbers = c.gradient_numbers, behind = c.gradients_start_behind })
}

INLINE size_t ${prefix}score_gradient_bytes(int T, int S) {
    ${prefix}score_gradients d;
    size_t bytes = 0;
    ${prefix}lay_out_score_gradients(&d, NULL, &bytes, T, S);
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

INLINE void ${prefix}lay_out_score_work(${prefix}score_work *w, char *memory, size_t *used, int T, int S) {
% for _, w in ipairs(c.work) do
    w->${w.name} = (${w.type} *)take(memory, used, ${w.count} * sizeof(${w.type}));
% end
}

/* Elements of end_score's room. */
INLINE size_t ${prefix}score_scratch(int T, int S) {
    ${prefix}score_work w;
    size_t bytes = 0;
    ${prefix}lay_out_score_work(&w, NULL, &bytes, T, S);
    return bytes / sizeof(real);
}
% end
