for (int l = 0; l < ${uses}; l++)
    % call(routine, arguments)
