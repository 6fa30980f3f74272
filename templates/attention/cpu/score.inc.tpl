% include("parts/banner.tpl", { template = "attention/cpu/score.inc.tpl", about = about.score[name] })

% local scalar = terms.scalar
% local tables_type = name .. "_score_tables"
% local and_begin, less_begin = terms.spans and " + begin" or "", terms.spans and " - begin" or ""
% for _, c in ipairs(scalar.constants) do
% if #c.lines == 1 then
static const real ${c.name}[] = {${c.lines[1]}};
% else
static const real ${c.name}[] = {
% for _, line in ipairs(c.lines) do
        ${line},
% end
};
% end
% end
% if scalar.constants[1] then

% end
/* What the score reads in the pair loop: tables that all sequences of a batch share, made once per step.
% if scalar.trains then
 * Gradients lie in the same places.
% end
% if scalar.has.distance then
 * A table by query - key starts ${S} - 1 elements before its pointer.
% end
 */
typedef struct ${name}_score_tables {
% if cross then
    int queries, keys; /* T and S, filled up to whole vectors: elements of one head by query, and by key */
% else
    int queries; /* T, filled up to whole vectors: elements of one head by query or key */
% end
% if scalar.has.distance then
    int distances; /* elements of one head by query - key */
% end
% if scalar.has.sum then
    int sums; /* by query + key */
% end
% if scalar.has.pair then
    size_t pairs; /* [${S}][queries] */
% end
% for _, t in ipairs(scalar.tables) do
    real *${t.name};${t.about}
% if t.row then
    real *${t.row}; /* of one group of queries, among the gradients alone */
% end
% end
} ${name}_score_tables;

/* Places a set of tables for ${cross and "T queries and S keys" or "T tokens"} into memory; NULL only counts. */
% define("static void lay_out_" .. name .. "_scores", tables_type .. " *s", "char *memory", "size_t *used", length_words)
    s->queries = round_up(T, LANES);
% if cross then
    s->keys = round_up(S, LANES);
% end
% if scalar.has.distance then
    s->distances = round_up(${S} - 1, LANES) + s->queries + LANES;
% end
% if scalar.has.sum then
% if cross then
    s->sums = s->queries + s->keys + LANES;
% else
    s->sums = 2 * s->queries + LANES;
% end
% end
% if scalar.has.pair then
    s->pairs = (size_t)${S} * (size_t)s->queries;
% end
% for _, t in ipairs(scalar.tables) do
% if ranged and (t.class == "query" or t.class == "pair") then
    s->${t.name} = take(memory, used, ((size_t)${t.count_text} + LANES) * sizeof(real)); /* LANES queries from any on */
% else
    s->${t.name} = take(memory, used, (size_t)${t.count_text} * sizeof(real));
% end
% if t.row then
    s->${t.row} = take(memory, used, (size_t)${t.row_count_text} * sizeof(real));
% end
% end
% if scalar.has.distance then
    if (!memory) return;
% for _, t in ipairs(scalar.tables) do
% if t.class == "distance" then
    s->${t.name} += ${S} - 1;
% if t.row then
    s->${t.row} += ${S} - 1;
% end
% end
% end
% end
}

INLINE size_t ${name}_score_bytes(${length_words}) {
    ${name}_score_tables s;
    size_t bytes = 0;
    % call("lay_out_" .. name .. "_scores", "&s", "NULL", "&bytes", T_S)
    return bytes;
}

/* The sets lie behind ${terms.made and "what vectors of distances need" or "the struct shared"}. */
INLINE size_t ${name}_score_start(const lh_shape *shape) {
% if terms.made then
    return (${name}_start(shape) + ${name}_relative_bytes(${of_shape}) + 63) / 64 * 64;
% else
    return ${name}_start(shape);
% end
}

/* The set that layer l reads. */
% define("static void " .. name .. "_score_tables_of", "const lh_cpu_step *step", "int l", tables_type .. " *s")
    int T = step->shape.length[${queries.stream}];
% if cross then
    int S = step->shape.length[${keys.stream}];
% end
% if scalar.tables[1] then
    char *tables = (char *)step->shared + ${name}_score_start(&step->shape);
    size_t used = 0;
% end
% if scalar.per_layer then
    % call("lay_out_" .. name .. "_scores", "s", ("tables + (size_t)l * %s_score_bytes(%s)"):format(name, T_S), "&used", T_S)
% else
    % call("lay_out_" .. name .. "_scores", "s", "tables", "&used", T_S)
% end
}

% if scalar.uses.distance or scalar.end_uses.distance then
/* LANES signed distances, of query - key = o, o + 1, ... */
static vector ${prefix}distances_from(const int32_t *drawn, int o, int T) {
    vector x = {0};
    for (int k = 0; k < LANES; k++) x[k] = (real)${prefix}drawn_distance(drawn, o + k < T ? -o - k : 1 - T);
    return x;
}

% end
% if scalar.making[1] then
/* Fills a set of tables${scalar.set_words}. */
% define("static void make_" .. name .. "_score", "const lh_cpu_step *step", "int l", "const " .. tables_type .. " *s")
    % include("attention/cpu/score_reads.tpl", { uses = scalar.uses })
% for _, nest in ipairs(scalar.making) do
    % include("attention/cpu/score_nest.tpl", { nest = nest })
% end
}

% define("static void make_" .. name .. "_score_set", "const lh_cpu_step *step", "int l")
    ${name}_score_tables s;
    % call(name .. "_score_tables_of", "step", "l", "&s")
    % call("make_" .. name .. "_score", "step", "l", "&s")
}

% end
/* The score of LANES queries, from i on, with key j. */
% define("INLINE vector " .. name .. "_score_pair", "const " .. tables_type .. " *s", "int h", "int i", "int j", "vector logit")
    % include("parts/statements.tpl", { list = scalar.pair })
}
% if scalar.row and tiles then

/* The score of query i with LANES keys, from j on. */
% define("INLINE vector " .. name .. "_score_row", "const " .. tables_type .. " *s", "int h", "int i", "int j", "vector logit")
    % include("parts/statements.tpl", { list = scalar.row })
}
% end
% if scalar.grads then

% if scalar.gathers then
/* What the gradients of one group's queries add up on their way to the tables; diagonals move on by a lane per key. */
typedef struct ${name}_score_group {
% for _, t in ipairs(scalar.gathered) do
    vector ${t.name};
% end
} ${name}_score_group;

% end
% if scalar.trains then
/* From the gradient of the score that of the logit, both without the factor inverse_sum. weighted is that of the score
 * with the factor, 0 in lanes beyond the last query. */
% else
/* From the gradient of the score that of the logit, both without the factor inverse_sum. */
% end
% define("INLINE vector " .. name .. "_score_pair_grad", "const " .. tables_type .. " *s", scalar.trains and "const " .. tables_type .. " *d", "int h", scalar.gathers and name .. "_score_group *group", "int i", "int j", scalar.recomputes and "vector logit", scalar.trains and "vector weighted", "vector dscore")
    % include("parts/statements.tpl", { list = scalar.pair_gradient })
}
% end
% if scalar.gathers then

/* Adds what a group of queries, from i on, has gathered to the tables' gradients. */
% define("INLINE void end_" .. name .. "_score_group", "const " .. tables_type .. " *d", "int h", "const " .. name .. "_score_group *group", span_words, "int i")
% for _, t in ipairs(scalar.gathered) do
% if t.class == "uniform" then
    ${t.element} += sum_lanes(group->${t.name});
% elseif t.class == "query" then
    add_at(${t.address}, group->${t.name});
% elseif t.class == "distance" then
    store(d->${t.row} + i${less_begin} + LANES, (vector){0});
    for (int o = i - ${to_key} + 1; o < i${less_begin} + LANES; o += LANES)
        add_at(${t.address}, load(d->${t.row} + o));
% elseif t.class == "sum" then
    store(d->${t.row} + i + ${to_key} + LANES - 1, (vector){0});
    for (int t = i${and_begin}; t < i + ${to_key} + LANES - 1; t += LANES) add_at(${t.address}, load(d->${t.row} + t));
% end
% end
}
% end
% if scalar.trains then

/* Takes the gradients of a set of tables back to the parameters. */
% define("static void end_" .. name .. "_score", "const lh_cpu_step *step", "int l", "const " .. tables_type .. " *s", "const " .. tables_type .. " *d", "parameters *g")
    % include("attention/cpu/score_reads.tpl", { uses = scalar.end_uses })
% for _, nest in ipairs(scalar.gradients) do
    % include("attention/cpu/score_nest.tpl", { nest = nest })
% end
}
% end
