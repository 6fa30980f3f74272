for (int j = ${from}; j < ${to}; j++) {
    vector score = ${score};
    largest = maximum(largest, score);
    store(weights + j * LANES, score);
}
