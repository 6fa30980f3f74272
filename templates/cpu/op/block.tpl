% -- Runs the repetitions first .. past - 1 of a block; number: the index of the current repetition.
% if number == first then
% call(routine, arguments)
% else
for (int l = ${first}; l < ${past}; l++)
    % call(routine, arguments)
% end
