% section("domain")

/* Whether LANES queries, from i on, may see key j: the first heads see even offsets alone. */
INLINE bits ${name}_even(int h, int i, int j) {
    bits seen = {0};
    for (int k = 0; k < LANES; k++) seen[k] = h >= ${count} || (i + k - j) % 2 == 0 ? -1 : 0;
    return seen;
}
% section("visible")
both(${inner}, ${name}_even(head->h, group->first, j))
