% local name, room = block or "network", block and block .. "_panels" or "shared"
/* Packs the panels of one weight; in training also the transposed panels for the backward pass. */
static void pack_${name}(const ${struct_name} *p, ${room} *to, int which, bool train) {
    switch (which) {
% for i, panel in ipairs(packed) do
% local number = i - 1
    case ${number}: % if i < #packed
    default: % else
        pack_weights(${panel.rows}, ${panel.columns}, p->${panel.name}, to->${panel.name});
        if (train) pack_transposed(${panel.rows}, ${panel.columns}, p->${panel.name}, to->${panel.name}_transposed);
        break; % if i < #packed
% end
    }
}
