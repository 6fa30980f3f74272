% -- Runs the repetitions first .. past - 1 of a block. number: the text of the current repetition's index; it equals
% -- `first` if there is only one repetition.
% if number == first then
% call(routine, arguments)
% else
for (int l = ${first}; l < ${past}; l++)
    % call(routine, arguments)
% end
