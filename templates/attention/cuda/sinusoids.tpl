% -- Writes the sinusoids of the distances of a set. place: where element e of [distance][channel] is stored.
% -- A negative distance has negated sines and the same cosines.
const int count = ${prefix}row_count(v, ${set});
for (int e = first; e < count * WIDTH; e += stride) {
    const int c = e % WIDTH, distance = ${attends.distance_of_row}(v, ${set}, e / WIDTH);
    const real value = v->tables[distance < 0 ? -distance : distance].sinusoid[c];
    v->shared.${prefix}sinusoids[${place}] = distance < 0 && c < WIDTH / 2 ? -value : value;
}
