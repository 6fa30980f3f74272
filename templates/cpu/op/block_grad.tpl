for (int l = ${past} - 1; l >= ${first}; l--)
    % call(routine, arguments)
