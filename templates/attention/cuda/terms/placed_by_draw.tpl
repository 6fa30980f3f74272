% section("positions_of_rows")
const int *position = ${prefix}positions_of(v, block()->l);
% section("place_of_row")
position[${inner}]
