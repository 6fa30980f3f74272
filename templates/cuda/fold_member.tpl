% -- Calls `fold` for a member of the struct of gradients: a struct (member.type) or an array of member.size numbers.
% call(fold, "(const real *)&" .. from, ("sizeof %s / sizeof(real)"):format(from), "(real *)&" .. to) % if member.type
% call(fold, from, member.size, to) % else
