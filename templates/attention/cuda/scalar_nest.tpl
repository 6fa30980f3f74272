% local keys = cross and "S" or "T"
% local loops = {
%     query = "for (int i = first; i < T; i += stride) {",
%     key = ("for (int j = first; j < %s; j += stride) {"):format(keys),
%     distance = ("for (int o = first - %s + 1; o < T; o += stride) {"):format(keys),
%     sum = ("for (int t = first; t < %s - 1; t += stride) {"):format(cross and "T + S" or "2 * T"),
%     pair = "for (size_t e = first; e < s->pairs; e += stride) {",
% }
% if nest.class ~= "uniform" then
% include("parts/statements.tpl", { list = nest.outer })
${loops[nest.class]}
    const int i = (int)(e % T); % if nest.class == "pair" and nest.uses.i
    const int j = (int)(e / T); % if nest.class == "pair" and nest.uses.j
% for _, g in ipairs(nest.gathered) do
% local start = g.index and ("[%d] = {0}"):format(g.count) or " = 0"
    real ${g.name}${start};
% end
% for _, part in ipairs(nest.parts) do
% local start = part.per_head and ("[%sHEADS] = {0}"):format(PREFIX) or " = 0"
    real ${part.name}${start};
% end
    % include("parts/statements.tpl", { list = nest.lane })
    #pragma unroll 1 % if nest.long_heads
    % include("parts/scalar_heads.tpl")
    % include("parts/statements.tpl", { list = nest.after })
% for _, part in ipairs(nest.parts) do
    for (int h = 0; h < ${PREFIX}HEADS; h++) ${part.array}[${part.place}] = ${part.name}[h]; % if part.per_head
    ${part.array}[${part.place}] = ${part.name}; % else
% end
}
% elseif nest.alone then
if (first == 0) {
    % include("parts/statements.tpl", { list = nest.outer })
    % include("parts/scalar_heads.tpl")
}
% else
% include("parts/statements.tpl", { list = nest.outer })
for (int h = first; h < ${PREFIX}HEADS; h += stride) {
    % include("parts/statements.tpl", { list = nest.head })
}
% end
