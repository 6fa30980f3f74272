for (int l = 0; l < ${uses}; l++)
    % call(name .. "_decode", self, "l", cached and ("&c.%s[l]"):format(name), input, output)
