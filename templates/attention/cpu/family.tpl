% include("attention/cpu/head_constants.tpl")

% slot("distances")
% if behind then
% include("attention/cpu/behind_shared.tpl")

% end
% slot("tables")
% if behind then
% include("attention/cpu/behind_end.tpl")

% end
% if terms.sums then
% include("attention/cpu/sums.tpl")

% end
% include("attention/cpu/kept.tpl")
