% section("members")
const ${name}_running *running; /* running sums of the sequence's tokens */
const ${name}_running *drunning; /* their gradients */ % section("last_members")
% section("head")
head.running = &w->${name}.running;
head.drunning = &w->${name}.drunning;
% section("scratch")
${name}_running running, drunning; /* of one sequence; drunning: gradients, in training */
% section("lay_out_scratch")
scratch->running = place_${name}_running(T, reserve(memory, used, count_${name}_running(T) * sizeof(real)));
% section("lay_out_training")
scratch->drunning = place_${name}_running(T, reserve(memory, used, count_${name}_running(T) * sizeof(real)));
scratch->drunning.lanes = reserve(memory, used, count_${name}_running(T) * LANES * sizeof(real));
% section("cached_sums")
if (sums) {
    w->${name}.running = place_${name}_running(T, sums);
    sums += count_${name}_running(T);
}
make_${name}_running(&w->${name}.running, ${from_token}, ${to_token}, ${request_name}); % section("sequence")
% section("sequence_back")
memset(w->${name}.drunning.sums, 0, count_${name}_running(T) * sizeof(real));
memset(w->${name}.drunning.lanes, 0, count_${name}_running(T) * LANES * sizeof(real));
% section("group_back") % if not scalar.trains
vector inverse_in_range = keep_where(lanes_before(T - first), inverse);
% section("clear") % if wider
/* unused columns stay zero */
memset(d${request_name}, 0, (size_t)(w->sequences * T) * ${PREFIX}${request.constant} * sizeof(real));
${request_name} += ${ranged and "count" or "T"} * ${PREFIX}${request.constant}; % section("advance")
% section("advance_back")
end_${name}_running(&w->${name}.drunning, T, ${request_name}, d${request_name});
${request_name} += T * ${PREFIX}${request.constant};
d${request_name} += T * ${PREFIX}${request.constant};
