% local answer, zeros = "lh_cuda_answer", "{0, 0, 0}"
% if device.has_passes then answer, zeros = "lh_cuda_loop_answer", "{0, 0, 0, 0}" end
/* Writes the answers of a group of sequences. logits and classes may be NULL.
 * before: the number of sequences of other models, whose answers come first in the arrays. */
INLINE void write_answers(${answer} *answers, real *logits, int *classes, size_t before) {
    const block_state *b = block();
    const workspace *w = &b->work;
    const int label_count = b->view.label_count;
    const size_t first = before + b->first;
    for (int sequence = threadIdx.x; sequence < b->sequences; sequence += THREADS) {
        ${answer} answer = ${zeros};
        for (int n = sequence * label_count; n < (sequence + 1) * label_count; n++) {
            answer.loss += w->losses[n];
            answer.counted += b->mask[n];
            answer.correct += b->mask[n] & w->correct[n];
            answer.uncertainty += w->uncertainties[n]; % if device.has_passes
        }
        answers[first + sequence] = answer;
    }
    for (int n = threadIdx.x; classes && n < b->sequences * label_count; n += THREADS)
        classes[first * label_count + n] = find_best_class(w->logits + n * CLASS_COLUMNS);
    if (!logits) return;
    for (int e = threadIdx.x; e < b->sequences * label_count * CLASSES; e += THREADS)
        logits[first * label_count * CLASSES + e] = w->logits[e / CLASSES * CLASS_COLUMNS + e % CLASSES];
}
