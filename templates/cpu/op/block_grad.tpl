% local of_layer = loops > 1 and ("&g->%s[l %% %s]"):format(name, count) or ("&g->%s[l]"):format(name)
for (int l = ${uses} - 1; l >= 0; l--)
    % call(name .. "_backward", self, "l", of_layer)
