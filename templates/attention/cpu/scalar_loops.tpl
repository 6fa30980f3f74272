% -- Prints the loops of a nest over the entries of tables. generator/expression/nests_cpu.lua makes the nest.
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
for (int i = 0; i < s->queries; i += LANES) { % if nest.class == "query"
for (int j = 0; j < ${cross and "s->keys" or "s->queries"}; j += LANES) { % elseif nest.class == "key"
for (int o = 1 - ${S}; o < s->queries; o += LANES) { % elseif nest.class == "distance"
for (int t = 0; t < ${S} + s->queries; t += LANES) { % else
    % include("attention/cpu/scalar_lane.tpl", { nest = nest })
}
% end
