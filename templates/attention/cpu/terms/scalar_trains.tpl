% local one, count = scalar.sets == 1, PREFIX .. "SCORE_SETS"
% local sets, at = one and "" or "[" .. count .. "]", one and "" or "[l]"
% local every = one and "" or "for (int l = 0; l < " .. count .. "; l++) "
const ${name}_score_tables *dscores; % section("members_behind")
head->dscores = &w->sums.${name}.score${at}; % section("head_grad")
vector live_inverse = keep_where(lanes_before(T - first), inverse); % section("group_back")
${name}_score_tables score${sets}; % section("sums")
${every}lay_out_${name}_scores(&sums->score${at}, memory, used, ${T_S}); % section("lay_out_sums")
${every}end_${name}_score(step, ${one and "0" or "l"}, &sums->score${at}, g); % section("end_sums")
