% call(fold, "(const real *)&" .. from, ("sizeof %s / sizeof(real)"):format(from), "(real *)&" .. to) % if member.type
% call(fold, from, member.size, to) % else
