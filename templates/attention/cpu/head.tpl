% local rows_text = not is_decoded and "; arrays have the rows of all queries" or ""
% local key_count_text = cross and ", .S = w->" .. keys.stream_prefix .. "length" or ""
/* Arguments of the functions for one head, in addition to rows of queries, keys and values; for the backward pass also
 * pointers to gradients. */
typedef struct ${name}_head {
    int ${cross and "T, S; /* numbers of queries and of keys */" or "T; /* number of queries and of keys */"}
    int from, to; /* the queries that this call requests, `to` excluded: arrays have no rows of other queries */ % if is_decoded
    int first_query, end_query; /* the queries that are computed, end_query excluded${rows_text} */ % if has_query_bounds
    % slot("members")
    int h; /* index of the head */ % if terms.needs_head_number
    % slot("last_members")
} ${name}_head;

static ${name}_head make_${name}_head(const workspace *w, int l, int h, int first_query, int end_query,
        const ${name}_score_tables *scores, const real *${request_name}) {
    ${name}_head head = {.T = w->${queries.stream_prefix}length${key_count_text}};
% if is_decoded then
    head.from = w->${queries.stream_prefix}from;
    head.to = w->${queries.stream_prefix}to;
% end
% if has_query_bounds then
    head.first_query = first_query;
    head.end_query = end_query;
% end
    % slot("head")
    head.h = h; % if terms.needs_head_number
    return head;
}
% if has_query_bounds then

/* The first query of the first group that holds a query to compute. */
INLINE int ${name}_first_group(const ${name}_head *head) {
    return head->from + (head->first_query - head->from) / LANES * LANES; % if is_decoded
    return head->first_query / LANES * LANES; % else
}
% end
% slot("functions")
% if terms.has_sums then

/* Sets the pointers to the sums of a head's gradients. */
INLINE void ${name}_head_grad(const workspace *w, int l, int h, ${name}_head *head) {
    % slot("head_grad")
}
% end
