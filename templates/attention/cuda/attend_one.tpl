% if attends.in_fragments then

% include("attention/cuda/pairs_loops.tpl")
% else
% slot("before_forward")
% end

% include(attends.forward)
