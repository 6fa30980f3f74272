% -- Prints the call that a record describes (generator/network/targets/calls.lua).
% local before = condition == "else" and "else " or condition and "if (" .. condition .. ") " or ""
% call(before .. routine, arguments)
