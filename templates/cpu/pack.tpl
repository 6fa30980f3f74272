% local name = block or "network"
% local panel_struct = block and block .. "_panels" or has_tables_by_length and "step_panels" or "shared"
/* Packs the weight with index `number` into panels; in training also its transpose, for the backward pass. */
static void pack_${name}(const ${struct_name} *p, ${panel_struct} *panels, int number, bool train) {
    switch (number) {
% for i, panel in ipairs(product_panels) do
% local index = i - 1
    case ${index}: % if i < #product_panels
    default: % else
        pack_weights(${panel.rows}, ${panel.columns}, p->${panel.name}, panels->${panel.name});
        if (train) pack_transposed(${panel.rows}, ${panel.columns}, p->${panel.name}, panels->${panel.name}_transposed);
        break; % if i < #product_panels
% end
    }
}
