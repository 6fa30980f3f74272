% if number == first then
% call(routine, arguments)
% else
for (int l = ${first}; l < ${past}; l++)
    % call(routine, arguments)
% end
