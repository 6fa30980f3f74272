% paragraph("attention/cuda/pairs_loops.tpl") % if attends.in_fragments
% include("attention/cuda/attend_loops.tpl")
