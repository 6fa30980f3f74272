% local input = reads and ("l > 0 ? %s[l - 1].output : %s"):format(name, first)
for (int l = ${count} - 1; l >= 0; l--)
    % call(name .. "_backward", "list", "l", ("&p->%s[l]"):format(name), ("&g->%s[l]"):format(name), "&w", ("&%s[l]"):format(name), input)
