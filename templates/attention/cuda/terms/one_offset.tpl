% section("work")
enum { ${PREFIX}QUERY_SUMS = 2 };

% section("seeker")
real offset; /* term added to all logits */
% section("load_seeker")
q->offset = a->numbers.offset;
% section("offset")
q->offset
