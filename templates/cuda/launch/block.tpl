% local input = reads and ("l > 0 ? %s[l - 1].output : %s"):format(name, first)
for (int l = 0; l < ${count}; l++)
    % call(name .. "_forward", "list", "l", ("&p->%s[l]"):format(name), "&w", ("&%s[l]"):format(name), input)
