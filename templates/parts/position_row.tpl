/* What a position contributes, made once for every position that can occur. */
% if rotation.kind == "rope" then
enum { ROTATION_PERIOD = ${rotation.period} }; /* channels after which a row of heads repeats its angles */
% end
typedef struct position_row {
% if sinusoids then
    real sinusoid[WIDTH]; /* sines, then cosines */
% end
% if rotation.kind == "rope" then
    real rotation[2 * ROTATION_PERIOD]; /* cosines, then signed sines */
% end
} position_row;
