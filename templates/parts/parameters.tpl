% if normaliser.kind == "geometric" then
/* Learned numbers of the logits of geometric attention, padded to a whole vector. */
typedef struct geometric_numbers {
    real scale, offset${normaliser.directional and ", direction_scale" or ""}, fill[${normaliser.padding}];
} geometric_numbers;

% end
/* Parameters. Gradients and the optimiser's states have the same layout. Weights are [in][out]. */
% for i, struct in ipairs(structs) do
% if i > 1 then

% end
typedef struct ${struct.name} {
    ${line} % for _, line in ipairs(struct.lines)
} ${struct.name};
% end
