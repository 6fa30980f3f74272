% include("attention/cpu/some_lengths.tpl", { of_T = of_T, of_S = of_S })
% if cross then
const real *value = key + WIDTH;
% else
const real *key = query + WIDTH, *value = query + 2 * WIDTH;
% end
