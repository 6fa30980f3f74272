% if number == first then
% call(routine, arguments)
% else
for (int l = ${past} - 1; l >= ${first}; l--)
    % call(routine, arguments)
% end
