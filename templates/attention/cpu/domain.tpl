% -- Functions of the terms that limit which keys a query sees.
% slot("domain")
% if terms.has_spans then

/* The number of pairs that attention skips, because the key lies outside the span of the query's group. Only a head's
 * first `queries` queries count. */
static double ${name}_skipped_pairs(const ${name}_head *head, int queries) {
    double pairs = 0;
    for (int first = 0; first < queries; first += LANES) {
        int begin, end, count = queries - first < LANES ? queries - first : LANES;
        ${name}_span(head, first, &begin, &end);
        pairs += (double)count * (begin + head->${S} - end);
    }
    return pairs;
}
% end
