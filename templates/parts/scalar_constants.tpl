% -- Prints the lists of constants of a score's formula.
% for _, list in ipairs(scalar.constants) do
static ${device}const real ${list.name}[] = {
        ${line}, % for _, line in ipairs(list.lines)
};

% end
