% local S, keys = cross and "S" or "T", cross and "s->keys" or "s->queries"
% local loops = {
%     query = "for (int i = 0; i < s->queries; i += LANES) {",
%     key = "for (int j = 0; j < " .. keys .. "; j += LANES) {",
%     distance = "for (int o = 1 - " .. S .. "; o < s->queries; o += LANES) {",
%     sum = "for (int t = 0; t < " .. S .. " + s->queries; t += LANES) {",
% }
% include("parts/statements.tpl", { list = nest.outer })
% if nest.class == "uniform" then
% include("parts/scalar_heads.tpl")
% elseif nest.class == "pair" then
for (int j = 0; j < ${S}; j++) {
    % include("parts/statements.tpl", { list = nest.key })
    for (int i = 0; i < s->queries; i += LANES) {
        % include("attention/cpu/scalar_lane.tpl", { nest = nest })
    }
}
% else
${loops[nest.class]}
    % include("attention/cpu/scalar_lane.tpl", { nest = nest })
}
% end
