% -- Calls the routine of an operation, or of a line in the host's list of launches; `arguments`
% -- has the arguments in order.
% local before = condition == "else" and "else " or condition and "if (" .. condition .. ") " or ""
% call(before .. routine, arguments)
