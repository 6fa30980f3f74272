% if member.type then
% call(fold, "(const real *)&" .. from, ("sizeof %s / sizeof(real)"):format(from), "(real *)&" .. to)
% else
% call(fold, from, member.size, to)
% end
