% -- Gradients of the learned parameters in the formula of a score.
% local has_one_set, count = scalar.set_count == 1, PREFIX .. "SCORE_SETS"
% local sets, layer_index = has_one_set and "" or "[" .. count .. "]", has_one_set and "" or "[l]"
% local every_layer = has_one_set and "" or "for (int l = 0; l < " .. count .. "; l++) "
const ${name}_score_tables *dscores; % section("last_members")
head->dscores = &w->sums.${name}.score${layer_index}; % section("head_grad")
vector inverse_in_range = keep_where(lanes_before(T - first), inverse); % section("group_back")
${name}_score_tables score${sets}; % section("sums")
${every_layer}lay_out_${name}_scores(&sums->score${layer_index}, memory, used, ${T_S}); % section("lay_out_sums")
${every_layer}end_${name}_score(step, ${has_one_set and "0" or "l"}, &sums->score${layer_index}, g); % section("end_sums")
