% -- An operation of a network, or a line of the host's list: network/targets/calls.lua has the order of arguments.
% call((asked and "if (" .. asked .. ") " or "") .. routine, arguments)
