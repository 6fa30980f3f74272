% -- Runs and traces the repetitions first .. past - 1 of a block; number: see block.tpl.
% if number == first then
% include("cpu/op/trace_repetition.tpl")
% else
for (int l = ${first}; l < ${past}; l++) {
    % include("cpu/op/trace_repetition.tpl")
}
% end
