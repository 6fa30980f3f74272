% section("positions_of_rows")
const int *position = ${attends.sequences}();
% section("place_of_row")
position[row]
