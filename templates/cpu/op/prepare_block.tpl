for (int l = 0; l < ${uses}; l++)
    % call(name .. "_prepare", self, "l", cached and ("&c.%s[l]"):format(name))
