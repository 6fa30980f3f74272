% -- Values of tokens that formulas of scores read, and running sums of such values.
% local running, gathered = scalar.cuda.running, scalar.cuda.gathered_by_class
% local offset = "(size_t)sequence * " .. running.row_count
% section("members")
const real *running; /* [${running.row_count}][${attends.T}] ${running.words} of the sequence's tokens */
a.running = s->${prefix}running + ${offset} * v->${attends.T}; % section("set_members")
% section("before_forward")
% -- Decoding adds one token at a time.

% include(decodes and "attention/cuda/make_running_one.tpl" or "attention/cuda/make_running.tpl", { running = running })
${prefix}make_running${decodes and "_one" or ""}(); % section("begin_forward")
real query_sums[${gathered.query_token.count}] = {0}; % section("start_query") % if gathered.query_token
% section("gather_by_query") % if gathered.query_token
${prefix}score_grad_query_token(a.score, a.running, a.T, a.S, a.h, i, j, sums, dsums, logit, ${attends.dscore}, query_sums);
% section("finish_query") % if running.stores_of_query[1]
const int T = v->${attends.T};
real *dr = w->${prefix}drunning + ${offset} * T;
${attends.if_first_lane}${store.target} ${store.operator} ${store.value}; % for _, store in ipairs(running.stores_of_query)
real key_sums[${gathered.key_token.count}] = {0}; % section("start_key") % if gathered.key_token
% section("add_to_key") % if gathered.key_token
${prefix}score_grad_key_token(a.score, a.running, a.T, a.S, a.h, i, j, sums, dsums, logit, ${attends.dscore}, key_sums);
% section("end_key_gradient") % if gathered.key_token
const int T = v->${attends.T};
real *dr = w->${prefix}drunning + ${offset} * T;
${attends.if_first_lane}${store.target} ${store.operator} ${store.value}; % for _, store in ipairs(running.stores_of_key)
% section("begin_sequence")
const real *running = block()->${attends.block}.${prefix}running + (size_t)(first + sequence) * ${running.row_count} * T;
% section("after_keys")

% include("attention/cuda/end_running.tpl", { running = running })
${prefix}end_running(g); % section("end_backward")
