% -- Scales one piece of the step's gradient, and stores its sum of squares.
clear_constants(piece, gradient); % if cuda.constants
if (factor != 1) scale_piece(factor, gradient + piece * PIECE); % if cuda.scales_gradient
const double squares = piece_squares(gradient + piece * PIECE);
if (threadIdx.x == 0) b->replica.piece_sums[piece] = squares;
