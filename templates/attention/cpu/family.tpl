% include("attention/cpu/head_constants.tpl")

% if positions.distance.draws then
% include("parts/drawn_distance.tpl")

% end
% if behind then
% include("attention/cpu/behind_shared.tpl")

% end
% if relative.kind ~= "none" then
% include("attention/cpu/relative_tables.tpl")

% end
% if score.kind ~= "none" then
#include "score_${name}.inc"

% end
% if behind then
% include("attention/cpu/behind_end.tpl")

% end
% if sums then
% include("attention/cpu/sums.tpl")

% end
% include(normaliser.kept)
