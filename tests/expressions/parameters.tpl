typedef struct layer_parameters {
    real none;
% for _, p in ipairs(score.learned) do
% if p.per_layer then
    real ${p.member}[${p.padded_count}];
% end
% end
} layer_parameters;
typedef struct parameters {
    layer_parameters layer[LAYERS];
% for _, p in ipairs(score.learned) do
% if not p.per_layer then
    real ${p.member}[${p.padded_count}];
% end
% end
} parameters;
