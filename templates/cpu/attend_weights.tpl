for (int j = ${from}; j < ${to}; j++) {
    vector weight = exp_negative(load(weights + j * LANES) - largest);
    store(weights + j * LANES, weight);
    sum += weight;
}
