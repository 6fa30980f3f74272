% -- Dropout of the attention weights.
% section("last_members")
keep_source masks; /* the source of the masks of weights; a pair has element (h * T + query) * ${S} + key */
int8_t *keep; /* buffer for the masks of a group of queries; NULL: no dropout */
% section("functions")

/* Prepares the dropout masks of a head's weights: sets their source, which depends on sequence and layer, and their
 * buffer. */
INLINE void drop_${name}_weights(const workspace *w, uint32_t layer, int sequence, ${name}_head *head) {
    const lh_cpu_step *step = w->step;
    % include("cpu/drop_site.tpl", { place = site })
    head->masks = (keep_source){step->key, step->step, w->block->first_example + (uint32_t)sequence, site};
    head->keep = w->${name}.keep;
}
% section("values")
% if eval_dropout then
% include("attention/cpu/attend_values_dropped.tpl")
vector inverse = 1 / sum;
store(inverses, inverse);
scale_columns(${PREFIX}HEAD_WIDTH, inverse * ${rate}_KEEP_SCALE, o);
% else
if (head->keep) {
    % include("attention/cpu/attend_values_dropped.tpl")
} else {
    weighted_rows(${PREFIX}HEAD_WIDTH, ${keys_seen}, ${from_weights}, ${K}, ${from_values}, o);
}
vector inverse = 1 / sum;
store(inverses, inverse);
const real keep_scale = head->keep ? ${rate}_KEEP_SCALE : 1;
scale_columns(${PREFIX}HEAD_WIDTH, inverse * keep_scale, o);
% end
scale_columns(${PREFIX}HEAD_WIDTH, broadcast(${rate}_KEEP_SCALE), g); % section("gradients_out")
% section("weight_back")
vector weight = load(weights + j * LANES);
bits keep = (bits)weight >= 0; /* dropped weights are stored negated */
store(weights + j * LANES, keep_where(keep, weight));
vector dweight = keep_where(keep, dot_row(${PREFIX}HEAD_WIDTH, g, value + j * ${K}));
vector ${gradient} = (dweight - mean) * choose(keep, weight, -weight);
int8_t *keep; /* [LANES queries][keys] masks, 0 or -1 */ % section("scratch")
scratch->keep = reserve(memory, used, LANES * (size_t)${S} + KEEP_SLACK); % section("lay_out_scratch") % if eval_dropout
% section("lay_out_training")
scratch->keep = reserve(memory, used, LANES * (size_t)${S} + KEEP_SLACK); % if not eval_dropout
% section("drop")
${eval_dropout and "" or "if (w->step->mode == LH_MODE_TRAIN) "}drop_${name}_weights(w, layer, s, &head);
${inner} * ${rate}_KEEP_SCALE % section("row_factor")
keep_where(keep, weight) % section("live_weight")
