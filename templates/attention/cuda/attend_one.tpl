% if attends.in_fragments then
% include("attention/cuda/pairs_loops.tpl")

% end
% include("attention/cuda/attend_loops.tpl")
