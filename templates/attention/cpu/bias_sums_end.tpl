for (int c = 0; c < WIDTH; c++) {
    int of_head = c / ${PREFIX}HEAD_WIDTH * 2 * ${PREFIX}HEAD_WIDTH;
    const real *sum = sums->biases[l] + (of_head + c % ${PREFIX}HEAD_WIDTH) * LANES;
    g->${prefix}content_bias[c] += sum_lanes(load(sum));
    g->${prefix}position_bias[c] += sum_lanes(load(sum + ${PREFIX}HEAD_WIDTH * LANES));
}
