for (int l = 0; l < ${uses}; l++)
    % call(name .. "_forward", self, "l", input, output)
