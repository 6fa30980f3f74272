for (int j = ${from}; j < ${to}; j++) {
    vector weight = load(weights + j * LANES);
    UNROLL
    for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) o[d] += weight * value[j * ${K} + d];
}
