for (int l = ${first}; l < ${past}; l++)
    % call(routine, arguments)
