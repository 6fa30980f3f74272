% include("attention/cpu/head_constants.tpl")

% slot("distances")
% paragraph("attention/cpu/behind_shared.tpl") % if behind
% slot("tables")
% paragraph("attention/cpu/behind_end.tpl") % if behind
% paragraph("attention/cpu/sums.tpl") % if terms.sums
% include("attention/cpu/kept.tpl")
