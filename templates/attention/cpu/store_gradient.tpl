if (${PREFIX}PAIRED) { % if paired then
    store(${paired.pairs} + 2 * j * LANES,
            interleave_elements(${inline("live_weight", "load(weights + j * LANES)")}, dlogit, 0));
    store(${paired.pairs} + (2 * j + 1) * LANES,
            interleave_elements(${inline("live_weight", "load(weights + j * LANES)")}, dlogit, LANES / 2));
% if not terms.beside then
} else {
    store(dlogits + j * LANES, dlogit);
% end
}
store(dlogits + j * LANES, dlogit); % if terms.beside or not paired
