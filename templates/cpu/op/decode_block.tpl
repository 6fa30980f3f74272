for (int l = 0; l < ${uses}; l++)
    % call(name .. "_decode", self, "l", ("&c.%s[l]"):format(name), input, output)
