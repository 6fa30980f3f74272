% -- Sums of gradients of the tables of a score's formula.
% -- The backward pass begins with the last layer. If layers share the tables (not per_layer), the last layer stores its
% -- sums and the other layers add to them.
% -- has_earlier_sums: a condition in C
% local has_earlier_sums = "first > 0 || l < " .. stack.count .. " - 1"
% section("begin_sums")
const ${prefix}${scalar.cuda.gradient_set.type} gradients = ${prefix}find_score_gradients(), *d = &gradients;
real out[${gathered.count}] = {0}; % section("clear")
${prefix}score_grad_${class}(a.score, a.running, a.T, a.S, a.h, i, j, sums, dsums, logit, ${attends.dscore}, out); % section("add_pair")
% section("store")
if (!${prefix}leads_head()) continue; % if attends.head_lanes > 1
% for _, g in ipairs(gathered) do
${g.target} = out[${g.index}]; % if scalar.per_layer
${g.target} = l == ${stack.count} - 1 ? out[${g.index}] : ${g.target} + out[${g.index}]; % else
% end
const ${prefix}score_tables tables = ${prefix}find_score_tables(v, l); % section("begin_stored_pairs")
% section("resume")
real out[${gathered.count}];
% for _, g in ipairs(gathered) do
out[${g.index}] = ${inline("resumes", "first > 0")} ? ${g.target} : 0; % if scalar.per_layer
out[${g.index}] = ${inline("continues", has_earlier_sums)} ? ${g.target} : 0; % else
% end
% section("add_stored_pair")
if (sees_key) ${prefix}score_grad_${class}(&tables, running, T, S, h, i, j, NULL, NULL, 0,
        w->${prefix}${attends.stores_pair_scores and "pair_scores" or "pairs"}[pairs + (size_t)i * (${attends.keys} + 1)],
                out);
${g.target} = out[${g.index}]; % section("store_numbers") % for _, g in ipairs(gathered)
