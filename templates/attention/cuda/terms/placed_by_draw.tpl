% -- Rotation by random positions that all sequences share.
const int *position = ${prefix}find_positions(v, block()->l); % section("positions_of_rows")
position[${inner}] % section("place_of_row")
