enum { ${PREFIX}RELATIVE_SETS = ${relative.sets} }; /* sets of distances in one pass${relative.sets_words} */

% slot("distance_count")
