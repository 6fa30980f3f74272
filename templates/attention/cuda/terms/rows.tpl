% -- Vectors of distances: the vector of a pair's distance is added to the pair's key.
% section("sets") % if rows.set_count > 1 and (rows.biases or not rows.toeplitz)
enum { ${PREFIX}RELATIVE_SETS = ${rows.set_count} }; /* number of sets of distances in one pass${rows.sets_words} */

: the product of the query with the sum of the key and the vector of their distance % section("logit_text")
% section("add_row")
real row[${attends.head_part}];
const int x = ${prefix}find_row(a, i, j);
${prefix}load_head(row, a->rows + x * ${PREFIX}HEAD_WIDTH);
${prefix}add_head(row, 1, key);
row % section("key_and_row")
% section("add_to_query")
/* `key` is reused for the vector of the pair's distance */
${prefix}load_head(key, a.rows + ${prefix}find_row(&a, i, j) * ${PREFIX}HEAD_WIDTH);
${prefix}add_head(dquery, dlogit, key);
