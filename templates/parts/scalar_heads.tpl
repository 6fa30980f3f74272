% -- Prints the loop over heads of a loop nest.
% if nest.head[1] then
for (int h = 0; h < ${PREFIX}HEADS; h++) {
    % include("parts/statements.tpl", { list = nest.head })
}
% end
