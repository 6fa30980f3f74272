% if cross then
    const int T = head->T, S = head->S;
    const real *value = key + WIDTH;
% else
    const int T = head->T;
    const real *key = query + WIDTH, *value = query + 2 * WIDTH;
% end
