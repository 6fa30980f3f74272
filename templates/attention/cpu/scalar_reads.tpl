% local middle = positions.distance.independent and " + " .. PREFIX .. "MAX_POSITION" or ""
const parameters *p = step->parameters;
% if uses.position then
const int32_t *position = ((const shared *)step->shared)->${prefix}position[${positions.layer_index}];
% end
% if uses.key_position then
const int32_t *key_position = ((const shared *)step->shared)->${prefix}key_position[${positions.layer_index}];
% end
% if uses.distance then
const int32_t *drawn = ((const shared *)step->shared)->${prefix}distance[${positions.distance.layer_index}]${middle};
% end
const int T = step->shape.length[${queries.stream}], S = step->shape.length[${keys.stream}];
