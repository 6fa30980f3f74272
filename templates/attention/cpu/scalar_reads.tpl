% -- Variables that the statements of nests read.
% local layer, layer_of_distances = positions.layer_index or "0", positions.distance.layer_index or "0"
const parameters *p = step->parameters;
const int32_t *position = ((const shared *)step->shared)->${prefix}position[${layer}];
const int32_t *key_position = ((const shared *)step->shared)->${prefix}key_position[${layer}];
const int32_t *drawn = ((const shared *)step->shared)->${prefix}distance[${layer_of_distances}]${to_zero_distance};
const int T = step->shape.length[${queries.stream}], S = step->shape.length[${keys.stream}];
