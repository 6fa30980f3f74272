% if member.type then
% call("fold_shards", "(const real *)&" .. from, ("sizeof %s / sizeof(real)"):format(from), "(real *)&" .. to)
% else
% call("fold_shards", from, member.size, to)
% end
