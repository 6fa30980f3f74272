% local directional = normaliser.directional
/* All heads of all sequences: query_key_value [sequences][T][3 WIDTH]${turned},
% if directional then
 * direction [sequences][T][DIRECTION_WIDTH], attended [sequences][T][WIDTH]. kept->step 0: forward only. */
static void attention_${name}(workspace *w, int l, ${name}_kept *kept, real *query_key_value, const real *direction,
        real *attended) {
% else
 * attended [sequences][T][WIDTH]. kept->step 0: forward only. */
static void attention_${name}(workspace *w, int l, ${name}_kept *kept, real *query_key_value, real *attended) {
% end
    LH_TIMED(LH_PART_ATTENTION);
    const int T = w->${queries.at}length;
    ${name}_kept of_head = *kept;
    for (int s = 0; s < w->sequences; s++) {
% if rotation.kind == "rope" then
        rotate_${name}(w, l, s, 1, query_key_value);
% end
        for (int h = 0; h < ${PREFIX}HEADS; h++) {
            const int at = h * ${PREFIX}HEAD_WIDTH;
            ${name}_head head = ${name}_head_of(w, l, h${direction_pass});
            turn_${name}_keys(T, query_key_value + at, w->${name}.columns);
            attend_${name}(&head, query_key_value + at, attended + at, of_head);
            skip_${name}_head(&of_head, T);
        }
        query_key_value += T * ${PREFIX}QUERY_STRIDE;
% if directional then
        direction += T * ${PREFIX}DIRECTION_WIDTH;
% end
        attended += T * WIDTH;
    }
}

% if directional then
/* dquery_key_value [sequences][T][3 WIDTH] and ddirection [sequences][T][DIRECTION_WIDTH] written, from
 * dattended [sequences][T][WIDTH]. */
static void attention_${name}_backward(workspace *w, int l, const ${name}_kept *kept, const real *query_key_value,
        const real *direction, const real *attended, const real *dattended, real *dquery_key_value, real *ddirection) {
% else
/* dquery_key_value [sequences][T][3 WIDTH] written, from dattended [sequences][T][WIDTH]. */
static void attention_${name}_backward(workspace *w, int l, const ${name}_kept *kept, const real *query_key_value,
        const real *attended, const real *dattended, real *dquery_key_value) {
% end
    LH_TIMED(LH_PART_ATTENTION);
    const int T = w->${queries.at}length;
    ${name}_kept of_head = *kept;
    ${name}_number_sums *sums = w->sums.${name}.numbers[l];
% if not normaliser.normalised then
    (void)attended;
% end
% if clears then
    /* unused columns stay so */
    memset(ddirection, 0, (size_t)(w->sequences * T) * ${PREFIX}DIRECTION_WIDTH * sizeof(real));
% end
    for (int s = 0; s < w->sequences; s++) {
        for (int h = 0; h < ${PREFIX}HEADS; h++) {
            const int at = h * ${PREFIX}HEAD_WIDTH;
            ${name}_head head = ${name}_head_of(w, l, h${direction_pass});
% if directional then
            ${name}_head_grad grad = {sums, sums->content_bias + at, dquery_key_value + at, ddirection + 2 * h};
% else
            ${name}_head_grad grad = {sums, sums->content_bias + at, dquery_key_value + at};
% end
            turn_${name}_keys(T, query_key_value + at, w->${name}.columns);
            attend_${name}_backward(&head, query_key_value + at, ${out_pass}dattended + at, of_head, &w->${name}, &grad);
            skip_${name}_head(&of_head, T);
        }
% if rotation.kind == "rope" then
        rotate_${name}(w, l, s, -1, dquery_key_value);
% end
        query_key_value += T * ${PREFIX}QUERY_STRIDE;
        dquery_key_value += T * ${PREFIX}QUERY_STRIDE;
% if directional then
        direction += T * ${PREFIX}DIRECTION_WIDTH;
        ddirection += T * ${PREFIX}DIRECTION_WIDTH;
% end
% if normaliser.normalised then
        attended += T * WIDTH;
% end
        dattended += T * WIDTH;
    }
}
