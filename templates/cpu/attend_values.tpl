for (int j = ${from}; j < ${to}; j++) {
    vector weight = exp_negative(load(weights + j * LANES) - largest);
    store(weights + j * LANES, weight);
    sum += weight;
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) o[d] += weight * value[j * ${K} + d];
}
