/* row [WIDTH] = the sinusoid of a signed distance: sines, then cosines. A negative distance has negated sines and the same
 * cosines. */
static void write_signed_sinusoid(const position_row *table, int distance, real *row) {
    const real *from = table[distance < 0 ? -distance : distance].sinusoid;
    for (int c = 0; c < WIDTH / 2; c++) row[c] = distance < 0 ? -from[c] : from[c];
    memcpy(row + WIDTH / 2, from + WIDTH / 2, WIDTH / 2 * sizeof(real));
}
