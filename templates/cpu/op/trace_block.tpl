% if number == first then
% include("cpu/op/trace_repetition.tpl")
% else
for (int l = ${first}; l < ${past}; l++) {
    % include("cpu/op/trace_repetition.tpl")
}
% end
