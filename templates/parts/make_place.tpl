/* Sines and cosines of number * 10000^(-2m / channels)${additive.interleaved and ", in even and odd channels" or ", in halves"}. */
static void make_waves(int number, int channels, real *row) {
    const double step = lh_log(10000.0) * 2 / channels;
    for (int m = 0; m < channels / 2; m++) {
        double sine, cosine;
        lh_sincos(number * lh_exp(-m * step), &sine, &cosine);
% if additive.interleaved then
        row[2 * m] = (real)sine;
        row[2 * m + 1] = (real)cosine;
% else
        row[m] = (real)sine;
        row[channels / 2 + m] = (real)cosine;
% end
    }
}

% if additive.grid then
/* The vector that is added to a token at a position: the first half encodes the column, the second half the row. */
static void make_place(int position, real *row) {
    make_waves(position % GRID_WIDTH, WIDTH / 2, row);
    make_waves(position / GRID_WIDTH, WIDTH / 2, row + WIDTH / 2);
}
% elseif additive.period then
/* The vector that is added to a token at a position; it encodes the cyclic position. */
static void make_place(int position, real *row) { make_waves(position % ${additive.period}, WIDTH, row); }
% else
/* The vector that is added to a token at a position. */
static void make_place(int position, real *row) { make_waves(position, WIDTH, row); }
% end
