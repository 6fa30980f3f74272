LAYERS = ${layers},
WIDTH = ${width},
HEADS = ${heads},
HEAD_WIDTH = ${head_width},
FEEDFORWARD = ${feedforward},
TOKENS = ${tokens}, /* rows of the embedding: ${tokens_words} */
CLASSES = ${classes},
CLASS_COLUMNS = ${class_columns}, /* classes, rounded up to a whole vector */
% if additive.kind == "learned" then
POSITION_ROWS = ${additive.rows},
% end
% if positions.first == 1 then
FIRST_POSITION = 1,
MAX_POSITION = ${positions.max_position}, /* positions are drawn from FIRST_POSITION .. MAX_POSITION - 1 */
% elseif positions.range then
MAX_POSITION = ${positions.max_position}, /* positions are drawn from 0 .. MAX_POSITION - 1 */
% elseif draws_distances then
MAX_POSITION = ${max_position},
% end
% if positions.kind == "randomized" then
DRAWS = ${positions.draws}, /* independent draws of one pass */
% end
% if draws_distances then
DISTANCE_DRAWS = ${positions.distance.draws}, /* of distances, from 1 .. MAX_POSITION - 1 */
% end
% if score.kind ~= "none" then
SCORE_SETS = ${score.sets}, /* of tables that the score reads${score.sets_words} */
% end
% if normaliser.directional then
DIRECTION_WIDTH = ${normaliser.direction_width}, /* right and left of every head, rounded up to a whole vector */
% end
% if relative.kind == "shaw" then
CLIP = ${relative.clip}, /* farther keys share the vector of this distance */
% end
