% local length = "w->" .. cpu.labelled_prefix .. "length"
% local finds_rows = readout == "probe" or cpu.unused_rows
% -- row_index: the row of x from which label i of sequence s is predicted
% local row_index = ("(s * %s + %s - labels + i)"):format(length, length)
% if finds_rows then
% row_index = "find_labelled_row(w, s, i)"
% elseif is_step_major then
% row_index = "((w->length - labels + i) * w->sequences + s)"
% end
% local weighs_sequences = train.weighs_sequences and task.excludes_masked_labels
% -- gradient_factor: C text of the factor of a label's gradient
% local gradient_factor = weighs_sequences and "weight" or "(real)block->loss_scale"
% gradient_factor = cpu.has_pass_losses and gradient_factor .. " / (real)w->passes" or gradient_factor
% local rows_of_x = cpu.unused_rows and "tokens of w->read" or "tokens"
% local weight = cpu.class_table and "w->" .. panels_member .. "->output" or "p->output"
% local bias = cpu.class_table and "NULL" or "p->output_bias"
% include("parts/banner.tpl", { template = "cpu/loss.inc.tpl", lines = comments.loss })

/* The counts of one sequence. counted: unmasked labels; correct: right answers to these labels. */
typedef struct answer {
    int counted, correct;
} answer;

/* Counts the answer to one label. is_counted: 0 if the label is masked, else 1. */
INLINE void count_answer(const real *logits, int label, int is_counted, answer *a) {
    a->counted += is_counted;
    a->correct += is_counted && find_class(CLASSES, logits) == label;
}

/* Adds the counts of a sequence to sums. sums->positions counts the labels in the loss. */
% if task.excludes_masked_labels then
static void add_sequence(const answer *a, lh_sums *sums) {
    sums->positions += a->counted;
% else
static void add_sequence(const answer *a, int labels, lh_sums *sums) {
    sums->positions += labels;
% end
    sums->counted += a->counted;
    sums->correct += a->correct;
    if (a->counted == 0) return; /* all labels are masked */ % if task.loss
    sums->sequences++;
    sums->exact += a->correct == a->counted;
}

% if weighs_sequences then
/* Returns the factor of each label's gradient in sequence s. All sequences have the same weight in the loss. */
static real weigh_labels(const lh_cpu_block *block, int labels, int s) {
    int counted = 0;
    for (int i = 0; i < labels; i++) counted += block->mask[s * labels + i];
    return (real)(counted > 0 ? block->loss_scale / counted : 0);
}

% end
% if finds_rows then
/* The row of x [${rows_of_x}] from which label i of sequence s is predicted. */
INLINE int find_labelled_row(const workspace *w, int s, int i) {
% if cpu.unused_rows and readout == "probe" then
    const int labels = w->step->shape.labels, count = w->read.count;
    return s * count + (count < w->all.count ? i : w->block->place[s * labels + i]);
% elseif cpu.unused_rows then
    const int count = w->read.count; /* the last tokens have the labels */
    return s * count + count - w->step->shape.labels + i;
% else
    return s * w->${cpu.labelled_prefix}length + w->block->place[s * w->step->shape.labels + i];
% end
}

/* Computes loss, counts, and dx, the gradient of x [${rows_of_x}][WIDTH].
 * Adds the output layer's gradients to g. */
% else
/* Computes loss, counts, and dx, the gradient of x [tokens][WIDTH]. The last `labels` tokens of a sequence have labels.
 * Adds the output layer's gradients to g. */
% end
static void loss_and_gradient(const workspace *w, const real *x, real *dx, parameters *g, lh_sums *sums) {
    const lh_cpu_block *block = w->block;
    const parameters *p = w->parameters;
    int labels = w->step->shape.labels;
    memset(dx, 0, (size_t)w->${cpu.unused_rows and "read." or cpu.labelled_prefix}tokens * WIDTH * sizeof(real));
    for (int s = 0; s < w->sequences; s++) {
        answer a = {0, 0};
        const real weight = weigh_labels(block, labels, s); % if weighs_sequences
        for (int i = 0; i < labels; i++) {
            int label = block->labels[s * labels + i];
            if (!block->mask[s * labels + i]) continue; % if task.excludes_masked_labels
            size_t row = (size_t)${row_index} * WIDTH;
            real logits[CLASS_COLUMNS];
            class_logits(WIDTH, CLASS_COLUMNS, x + row, ${weight}, ${bias}, logits);
            count_answer(logits, label, ${task.excludes_masked_labels and "1" or "block->mask[s * labels + i]"}, &a);
            sums->loss += softmax_loss(CLASSES, CLASS_COLUMNS, logits, label) / w->passes; % if cpu.has_pass_losses
            sums->loss += softmax_loss(CLASSES, CLASS_COLUMNS, logits, label); % else
            logits[label] -= 1;
            for (int v = 0; v < CLASS_COLUMNS; v++) logits[v] *= ${gradient_factor};
% if cpu.class_table then
            tied_class_grad(WIDTH, CLASSES, x + row, logits, p->${cpu.class_table} + OUTPUT_TOKEN * WIDTH,
                    g->${cpu.class_table} + OUTPUT_TOKEN * WIDTH, dx + row);
% else
            class_grad(WIDTH, CLASSES, CLASS_COLUMNS, x + row, logits, w->${panels_member}->output_rows, g->output,
                    g->output_bias, dx + row);
% end
        }
        % call("add_sequence", "&a", not task.excludes_masked_labels and "labels", "sums")
    }
}

/* Computes the logits [CLASS_COLUMNS] of label i of sequence s, from x [${rows_of_x}][WIDTH]. */
INLINE void compute_label_logits(const workspace *w, const real *x, int s, int i, real *logits) {
    const parameters *p = w->parameters; % if not cpu.class_table
    int labels = w->step->shape.labels; % if not finds_rows
    class_logits(WIDTH, CLASS_COLUMNS, x + (size_t)${row_index} * WIDTH, ${weight}, ${bias}, logits);
}

% if cpu.decoding then
/* Copies a label's stored logits [CLASSES] to logits [CLASS_COLUMNS]. The other columns get the first logit. */
INLINE void copy_logits(const real *from, real *logits) {
    memcpy(logits, from, CLASSES * sizeof(real));
    for (int v = CLASSES; v < CLASS_COLUMNS; v++) logits[v] = logits[0];
}

/* Computes loss and counts from x [${rows_of_x}][WIDTH] or, if x is NULL, from block->logits.
 * If requested, also writes answers, sums of single sequences, and logits [sequences][labels][CLASSES]. */
% else
/* Computes loss and counts from x [${rows_of_x}][WIDTH].
 * If requested, also writes answers, sums of single sequences, and logits [sequences][labels][CLASSES]. */
% end
static void classify(const workspace *w, const real *x, lh_sums *sums) {
    const lh_cpu_block *block = w->block;
    int labels = w->step->shape.labels;
    real *all_logits = block->logits;
    for (int s = 0; s < block->sequences; s++) {
        lh_sums *sum = block->sequences_per_sum > 0 ? sums + s / block->sequences_per_sum : sums;
        lh_sums *single = block->sequence_sums ? &block->sequence_sums[s] : NULL;
        answer a = {0, 0};
        if (single) *single = (lh_sums){0};
        for (int i = 0; i < labels; i++) {
            const int index = s * labels + i, label = block->labels[index];
            real *stored = all_logits ? all_logits + (size_t)index * CLASSES : NULL;
            real logits[CLASS_COLUMNS];
% if cpu.decoding then
            if (x) compute_label_logits(w, x, s, i, logits);
            else copy_logits(stored, logits);
            if (x && stored) memcpy(stored, logits, CLASSES * sizeof(real));
% else
            compute_label_logits(w, x, s, i, logits);
            if (stored) memcpy(stored, logits, CLASSES * sizeof(real));
% end
            count_answer(logits, label, block->mask[index], &a);
            if (block->answers) block->answers[index] = (uint16_t)find_class(CLASSES, logits);
            if (!block->mask[index]) continue; % if task.excludes_masked_labels
            const double loss = softmax_loss(CLASSES, CLASS_COLUMNS, logits, label);
            sum->loss += loss;
            if (single) single->loss += loss;
% if cpu.passes then
            const double uncertainty = -lh_log((double)logits[find_class(CLASSES, logits)]); /* softmax_loss wrote probabilities in place of the logits */
            sum->uncertainty += uncertainty;
            if (single) single->uncertainty += uncertainty;
% end
        }
        % call("add_sequence", "&a", not task.excludes_masked_labels and "labels", "sum")
        if (single) add_sequence(&a, ${task.excludes_masked_labels and "single" or "labels, single"});
    }
}
% if cpu.decoding then

/* Computes loss, counts, answers and sums from block->logits. */
static void score_block(const lh_cpu_step *step, const lh_cpu_block *block, lh_sums *sums) {
    const workspace w = {.step = step, .block = block};
    classify(&w, NULL, sums);
}
% end
