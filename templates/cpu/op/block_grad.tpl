for (int l = ${uses} - 1; l >= 0; l--)
    % call(routine, arguments)
