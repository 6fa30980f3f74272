const int *position = ${attends.sequences}(); % section("positions_of_rows")
position[row] % section("place_of_row")
