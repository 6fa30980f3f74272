% -- Scores that a formula computes from logits, and the tables that the formula reads.
% local has_one_set, count = scalar.set_count == 1, PREFIX .. "SCORE_SETS"
% local every_layer = "for (int l = 0; l < " .. count .. "; l++) "
% local layers_of_part = "for (int l = part; l < " .. count .. "; l += parts) "
const ${name}_score_tables *scores; % section("members")
head.scores = scores; % section("head")
${name}_score_pair(head->scores, head->running, head->h, group->first, j, head->row_sums, ${inner}) % section("score")
% section("group_back") % if scalar.has_group
${name}_score_group gathered;
memset(&gathered, 0, sizeof gathered);
% section("pair_back") % if scalar.needs_pair_gradient
vector dlogit = ${name}_score_pair_grad(head->scores, head->dscores, head->running, head->drunning, head->h, &gathered, first, j, head->row_sums, seen, logit,
        dscore * inverse_in_range, inverse_in_range, dscore);
end_${name}_score_group(head->dscores, head->drunning, head->h, &gathered, ${span}, first); % section("gathered") % if scalar.has_gathered_tables
const ${name}_score_tables scores = find_${name}_score_tables(w->step, l); % section("heads")
const ${name}_score_tables tables = find_${name}_score_tables(w->step, l); % section("trace_tables")
% section("tables")
#include "score_${name}.inc"

% section("after_positions")
% local make_function = scalar.filled_after == "positions" and "make_" .. name .. "_score_set"
% if make_function and not positions.per_layer then
${has_one_set and "" or every_layer}${make_function}(step, ${has_one_set and "0" or "l"});
% elseif make_function and positions.input_first then
if (d > 0)
    ${make_function}(step, d - 1);
% elseif make_function then
${make_function}(step, d);
% end
% section("after_distances") % if scalar.filled_after == "distances"
% local by_draw = has_one_set or positions.distance.per_layer -- with one set there is one draw, d == 0
${by_draw and "" or every_layer}make_${name}_score_set(step, ${by_draw and "d" or "l"});
% section("begin") % if scalar.filled_after == "nothing"
${has_one_set and "if (part == 0) " or layers_of_part}make_${name}_score_set(step, ${has_one_set and "0" or "l"});
