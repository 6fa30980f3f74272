% -- Runs the repetitions first .. past - 1 of a block.
% -- number: C text of the current repetition's index; equal to `first` if there is one repetition
% if number == first then
% call(routine, arguments)
% else
for (int l = ${first}; l < ${past}; l++)
    % call(routine, arguments)
% end
