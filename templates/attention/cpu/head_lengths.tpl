    const int ${lengths};
% if cross then
    const real *value = key + WIDTH;
% else
    const real *key = query + WIDTH, *value = query + 2 * WIDTH;
% end
