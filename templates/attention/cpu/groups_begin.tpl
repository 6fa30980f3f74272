% if bounded then
const int first_group = ${name}_first_group(head);
const real *row = scratch->${rows} + head->first_query * ${vectors} * ${PREFIX}HEAD_WIDTH;
for (int first = first_group; first < head->end_query; first += LANES) {
    const int group = (first - first_group) / LANES;
% else
const real *row = scratch->${rows};
for (int first = 0; first < T; first += LANES) {
% end
