% -- Rotation by random positions that each sequence samples.
const int *position = ${attends.positions_function}(); % section("positions_of_rows")
% section("place_of_row")
position[row * v->${attends.T} + block()->current] % if decodes
position[row] % else
