% -- An operation of a network, or a line of the host's list: its record has the order of arguments.
% call((asked and "if (" .. asked .. ") " or "") .. routine, arguments)
