% local sides = { key_count = attends.keys }
/* Sums the stored gradients of pairs for each difference (query - key) in each head. Reads `sequences` sequences, from
 * sequence `first` on. A thread computes one sum at a time, sequence after sequence. Adjacent threads read the same
 * queries at the same time. */
NOINLINE void ${prefix}attend_by_distance(int first, int sequences) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const int T = v->${attends.T}, S = v->${attends.S}, count = T + S - 1, l = block()->l;
    % slot("begin_sums")
    % slot("begin_stored_pairs")
    for (int task = ${first_task}; task < ${PREFIX}HEADS * count; task += ${task_step}) {
        const int h = task / count, o = task % count - (${attends.keys} - 1);
        % slot("resume")
        for (int sequence = 0; sequence < sequences; sequence++) {
            /* The pair of query i and key i - o is stored at the index pairs + i * (${attends.keys} + 1). */
            const size_t pairs = ((size_t)sequence * ${PREFIX}HEADS + h) * T * ${attends.keys} - o;
            % slot("begin_sequence")
#pragma unroll ${unroll}
            for (int i = 0; i < T; i++) {
                const int j = i - o;
                const bool sees_key = ${inline("exists", "", sides)};
                % slot("add_stored_pair")
            }
        }
        % slot("store_row")
        % slot("skip_other_lanes")
        % slot("store_numbers")
    }
}
