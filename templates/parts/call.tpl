% -- An operation of a network, or a line of the host's list: its record has the order of arguments.
% local before = asked == "else" and "else " or asked and "if (" .. asked .. ") " or ""
% call(before .. routine, arguments)
