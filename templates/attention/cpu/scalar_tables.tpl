% local scalar = terms.scalar
/* Tables that the score reads in the pair loop; all sequences of a batch share them, and they are made once per step.
% if scalar.trains then
 * Gradients lie in the same places.
% end
% if scalar.has.distance then
 * A table by query - key starts ${S} - 1 elements before its pointer.
% end
 */
typedef struct ${name}_score_tables {
% if cross then
    int queries, keys; /* T and S, filled up to whole vectors: elements of one head by query, and by key */
% else
    int queries; /* T, filled up to whole vectors: elements of one head by query or key */
% end
% if scalar.has.distance then
    int distances; /* elements of one head by query - key */
% end
% if scalar.has.sum then
    int sums; /* by query + key */
% end
% if scalar.has.pair then
    size_t pairs; /* [${S}][queries] */
% end
% for _, t in ipairs(scalar.tables) do
    real *${t.name};${t.about}
% if t.row then
    real *${t.row}; /* of one group of queries, among the gradients alone */
% end
% end
} ${name}_score_tables;
