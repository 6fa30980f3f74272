% local scalar = terms.scalar
% include("attention/cpu/scalar_tables.tpl")

/* Places a set of tables for ${cross and "T queries and S keys" or "T tokens"} into memory; NULL only counts. */
static void lay_out_${name}_scores(${name}_score_tables *s, char *memory, size_t *used, ${length_words}) {
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
