% section("work")
enum { ${PREFIX}QUERY_SUMS = 2 };

% section("seeker")
real offset; /* what logits have besides */
% section("load_seeker")
q->offset = a->numbers.offset;
% section("offset")
q->offset
