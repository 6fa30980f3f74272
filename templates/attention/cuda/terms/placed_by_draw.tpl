% section("positions_of_rows")
% local positions_of = prefix .. "positions_of"
const int *position = ${invoke(positions_of, "v", "block()->l")};
% section("place_of_row")
position[${inner}]
