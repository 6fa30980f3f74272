% section("work")
enum { ${PREFIX}QUERY_SUMS = 2 };

real offset; /* term added to all logits */ % section("seeker")
q->offset = a->numbers.offset; % section("load_seeker")
q->offset % section("offset")
