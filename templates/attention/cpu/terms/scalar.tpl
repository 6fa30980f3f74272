% section("members")
const ${name}_score_tables *scores;
% section("members_behind")
% if scalar.trains then
const ${name}_score_tables *dscores;
% end
% section("head")
head.scores = scores;
% section("head_grad")
% if scalar.trains then
head->dscores = &w->sums.${name}.score[${scalar.set_of_layer}];
% end
% section("score")
% local pair = name .. "_score_pair"
${invoke(pair, "head->scores", "head->h", "group->first", "j", inner)}
% section("open_score")
${name}_open_score(head, group, j, ${inner})
% section("group_back")
% if scalar.gathers then
${name}_score_group gathered;
memset(&gathered, 0, sizeof gathered);
% end
% if scalar.trains then
vector live_inverse = keep_where(lanes_before(T - first), inverse);
% end
% section("pair_back")
% if scalar.grads then
% local tables, group = scalar.trains and "head->dscores", scalar.gathers and "&gathered"
% local logit, weighted = scalar.recomputes and "logit", scalar.trains and "dscore * live_inverse"
% local back = invoke(name .. "_score_pair_grad", "head->scores", tables, "head->h", group, "first", "j", logit, weighted, "dscore")
vector dlogit = ${back};
% end
% section("gathered")
% if scalar.gathers then
% call("end_" .. name .. "_score_group", "head->dscores", "head->h", "&gathered", span, "first")
% end
% section("heads")
${name}_score_tables scores;
% call(name .. "_score_tables_of", "w->step", "l", "&scores")
% section("tables")
${name}_score_tables tables;
% call(name .. "_score_tables_of", "w->step", "l", "&tables")
