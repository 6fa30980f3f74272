% local has_earlier_sums = "first > 0 || l < " .. stack.count .. " - 1"
% section("begin_owner")
const ${prefix}${scalar.cuda.gradient_set.type} gradients = ${prefix}find_score_gradients(), *d = &gradients;
real out[${gathered.count}] = {0}; % section("clear")
${prefix}score_grad_${class}(a.score, a.T, a.S, a.h, i, j, logit, ${attends.dscore}, out); % section("add_pair")
% section("store")
if (!${prefix}leads_head()) continue; % if attends.head_lanes > 1
% for _, g in ipairs(gathered) do
${g.target} = out[${g.at}]; % if scalar.per_layer
${g.target} = l == ${stack.count} - 1 ? out[${g.at}] : ${g.target} + out[${g.at}]; % else
% end
const ${prefix}score_tables tables = ${prefix}find_score_tables(v, l); % section("begin_kept")
% section("resume")
real out[${gathered.count}];
% for _, g in ipairs(gathered) do
out[${g.at}] = ${inline("resumes", "first > 0")} ? ${g.target} : 0; % if scalar.per_layer
out[${g.at}] = ${inline("goes_on", has_earlier_sums)} ? ${g.target} : 0; % else
% end
% section("add_kept")
if (sees_key) ${prefix}score_grad_${class}(&tables, T, S, h, i, j, 0,
        w->${prefix}${attends.pair_scores and "pair_scores" or "pairs"}[pairs + (size_t)i * (${attends.keys} + 1)],
                out);
${g.target} = out[${g.at}]; % section("store_kept_numbers") % for _, g in ipairs(gathered)
