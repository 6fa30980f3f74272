% local one, count = scalar.sets == 1, PREFIX .. "SCORE_SETS"
% local sets = one and "" or "[" .. count .. "]"
% local every = one and "" or "for (int l = 0; l < " .. count .. "; l++) "
const ${name}_score_tables *dscores; % section("members_behind")
head->dscores = &w->sums.${name}.score${one and "" or "[l]"}; % section("head_grad")
vector live_inverse = keep_where(lanes_before(T - first), inverse); % section("group_back")
${name}_score_tables score${sets}; % section("sums")
${every}lay_out_${name}_scores(&sums->score${one and "" or "[l]"}, memory, used, ${T_S}); % section("sums_room")
% section("end_sums")
% if one then
${name}_score_tables tables;
${name}_score_tables_of(step, 0, &tables);
end_${name}_score(step, 0, &tables, &sums->score, g);
% else
${every}{
    ${name}_score_tables tables;
    ${name}_score_tables_of(step, l, &tables);
    end_${name}_score(step, l, &tables, &sums->score[l], g);
}
% end
