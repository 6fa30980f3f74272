% -- The rest of a query's stick as the weight of the query's own value.
% section("queries_grad")

/* Adds the gradients of the queries' own values: the rest of a query's stick is the weight of its own value. */
INLINE void add_${name}_rests(const ${name}_head *head, const real *restrict dout, const real *rests,
        real *restrict dvalue) {
    const int T = head->T; % if not has_query_bounds
    for (int t = ${from_query}; t < ${to_query}; t++)
        for (int d = 0; d < ${PREFIX}HEAD_WIDTH; d++) dvalue[t * ${K} + d] += rests[t] * dout[t * WIDTH + d];
}
% section("rows_back")
add_${name}_rests(head, dout, saved.rests, dkey + WIDTH);
% section("rows_back_of_block")
add_${name}_rests(&block, dout, saved.rests, dkey + WIDTH);
% section("saved_members")
real *rests; /* [sequences][${PREFIX}HEADS][groups][LANES] rests of the sticks */
size_t rest_step; /* elements from one head's rests to the next; 0: the heads share one buffer */
% section("lay_out_saved")
saved->rests = reserve(memory, used, (train ? heads * groups : groups) * LANES * sizeof(real));
saved->rest_step = train ? groups * LANES : 0;
% section("skip_saved")
saved->rests += saved->rest_step;
