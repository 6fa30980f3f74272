% -- Calls the routine of an operation, or of a line in the host's list of launches; `arguments`
% -- has the arguments in order.
% local before = asked == "else" and "else " or asked and "if (" .. asked .. ") " or ""
% call(before .. routine, arguments)
