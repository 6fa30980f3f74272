% -- One term for the logits of all keys, on both sides of the query.
% section("work")
enum { ${PREFIX}QUERY_SUMS = 2 }; /* sums that each query stores: the gradients of scale and offset */

real offset; /* term added to all logits */ % section("prepared_query")
q->offset = a->numbers.offset; % section("load_prepared_query")
q->offset % section("offset")
