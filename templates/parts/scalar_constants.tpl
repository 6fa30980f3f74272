% for _, list in ipairs(scalar.constants) do
static ${device}const real ${list.name}[] = {
% for _, line in ipairs(list.lines) do
        ${line},
% end
};

% end
