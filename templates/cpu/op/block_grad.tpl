% -- Runs the backward pass of the repetitions past - 1 .. first of a block; number: see block.tpl.
% if number == first then
% call(routine, arguments)
% else
for (int l = ${past} - 1; l >= ${first}; l--)
    % call(routine, arguments)
% end
