const int *position = ${prefix}positions_of(v, block()->l); % section("positions_of_rows")
position[${inner}] % section("place_of_row")
