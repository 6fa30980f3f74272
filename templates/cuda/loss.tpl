% local passes_divisor = device.has_pass_losses and " / count_passes()" or ""
% local weighs_sequences = train.weighs_sequences and task.excludes_masked_labels
% -- C texts for channel k and class c: the weight's gradient, and the value that is assigned to this gradient
% local weight_gradient = "g->" .. (device.class_table and device.class_table .. "[(OUTPUT_TOKEN + c) * WIDTH + k]" or "output[k * CLASS_COLUMNS + c]")
% local new_gradient_value = device.has_pass_losses and "adds ? " .. weight_gradient .. " + sum : sum" or "sum"
% -- C text of the weight for channel k + i and class c
% local weight_element = "output[(k + i) * CLASS_COLUMNS + c]"
% if device.class_table then
% weight_element = device.class_table .. "[(OUTPUT_TOKEN + c) * WIDTH + k + i]"
% end
% if readout == "probe" then
/* Returns the row of labelled token n. A sequence has v->${device.labelled_length} rows. */
INLINE int find_labelled_row(const step_view *v, int n) { return n / v->label_count * v->${device.labelled_length} + block()->place[n]; }
% else
/* Returns the row of labelled token n. The last label_count tokens of a sequence are labelled. */
INLINE int find_labelled_row(const step_view *v, int n) {
    return n / v->label_count * v->${device.labelled_length} + v->${device.labelled_length} - v->label_count + n % v->label_count;
}
% end

% include("cuda/logits.tpl")

/* The class with the largest logit; the first one if several are equal. */
INLINE int find_best_class(const real *logits) {
    int best = 0;
    for (int c = 1; c < CLASSES; c++)
        if (logits[c] > logits[best]) best = c;
    return best;
}

% if weighs_sequences then
/* Returns the factor of the gradient of counted label n: loss_scale / the number of counted labels in its sequence. */
INLINE real weigh_label(int n) {
    const int label_count = block()->view.label_count, first = n / label_count * label_count;
    const unsigned char *mask = block()->mask;
    int counted = 0;
    for (int i = first; i < first + label_count; i++) counted += mask[i];
    return (real)(block()->step.loss_scale / counted);
}

% end
/* Computes logits, and softmax cross-entropy with one thread per labelled token.
 * A masked label has no loss and no gradient. % if task.excludes_masked_labels
 * Writes the arrays logits, losses and `correct` of the workspace. In training, gradients replace the logits. */
NOINLINE void classify(const real *x, const bool training) {
    const workspace *w = &block()->work;
    const int count = block()->sequences * block()->view.label_count;
    make_logits(x, count);
    for (int n = threadIdx.x; n < count; n += THREADS) {
        real *logits = w->logits + n * CLASS_COLUMNS, sum = 0;
% if task.excludes_masked_labels then
        if (!block()->mask[n]) {
            w->losses[n] = 0;
            if (!training) w->uncertainties[n] = 0; % if device.has_passes
            w->correct[n] = 0;
            for (int c = 0; training && c < CLASSES; c++) logits[c] = 0;
            continue;
        }
% end
        const int label = block()->labels[n], best = find_best_class(logits);
        const real largest = logits[best];
        for (int c = 0; c < CLASSES; c++) sum += exp_negative(logits[c] - largest);
        w->losses[n] = log_real(sum) + (largest - logits[label]);
        if (!training) w->uncertainties[n] = log_real(sum); /* -log(p), where p = 1 / sum is the greatest probability */ % if device.has_passes
        if (training) w->losses[n] /= count_passes(); /* the loss is the mean over the losses of all passes */ % if device.has_pass_losses
        w->correct[n] = best == label;
        if (training) {
            const real scale = ${weighs_sequences and "weigh_label(n)" or "(real)block()->step.loss_scale"}${passes_divisor};
            for (int c = 0; c < CLASSES; c++)
                logits[c] = (exp_negative(logits[c] - largest) / sum - (c == label ? 1 : 0)) * scale;
        }
    }
    __syncthreads();
}

% if device.has_pass_losses then
/* Computes sums over a shard's answers in a fixed order. Thread 0 writes the sums to *to.
 * adds: whether to->loss holds the loss of earlier passes, to which the loss of this pass is added. */
INLINE void add_up(lh_cuda_sums *to, const bool adds) {
% else
/* Computes sums over a shard's answers in a fixed order. Thread 0 writes the sums to *to. */
INLINE void add_up(lh_cuda_sums *to) {
% end
    const workspace *w = &block()->work;
    const unsigned char *mask = block()->mask;
    const int label_count = block()->view.label_count;
    double loss = 0, counted = 0, correct = 0, exact = 0;
    for (int sequence = threadIdx.x; sequence < block()->sequences; sequence += THREADS) {
        int sequence_counted = 0, sequence_correct = 0;
        for (int n = sequence * label_count; n < (sequence + 1) * label_count; n++) {
            loss += w->losses[n];
            sequence_counted += mask[n];
            sequence_correct += mask[n] & w->correct[n];
        }
        counted += sequence_counted;
        correct += sequence_correct;
        exact += ${task.loss and "sequence_counted > 0 && " or ""}sequence_counted == sequence_correct;
    }
    const lh_cuda_sums sums = {block_sum(loss), (long long)block_sum(counted), (long long)block_sum(correct),
            (long long)block_sum(exact)};
% if device.has_pass_losses then
    if (threadIdx.x != 0) return;
    const double earlier_loss = adds ? to->loss : 0;
    *to = sums;
    to->loss += earlier_loss;
% else
    if (threadIdx.x == 0) *to = sums;
% end
}

/* Returns the thread's part of the gradient of the output layer's weight for channel k and class c. */
INLINE real weight_grad(const real *x, int count, int k, int c) {
    const step_view *v = &block()->view;
    const int step = row_step(SPAN);
    real sum = 0;
    for (int first = first_row(SPAN); first < count; first += SUMMANDS * step) {
        real part[SUMMANDS], dlogit[SUMMANDS];
        fetch_rows(block()->work.logits + c, first, step, count, CLASS_COLUMNS, dlogit);
#pragma unroll
        for (int u = 0; u < SUMMANDS; u++) {
            const int n = first + u * step;
            part[u] = n < count ? x[find_labelled_row(v, n) * WIDTH + k] : 0;
        }
#pragma unroll
        for (int u = 0; u < SUMMANDS; u++) sum += part[u] * dlogit[u];
    }
    return sum;
}

/* Runs the backward pass of the output layer, from the gradients of the logits in w->logits. Writes:
 *   w->${device.readout_gradient}   [rows][WIDTH] gradient of the layer's input
 *   g   gradients of the layer's parameters, added to g if `adds` */ % if device.has_pass_losses
 *   g   gradients of the layer's parameters */ % else
% define("NOINLINE void classify_backward", "const real *x", cuda.gradients .. " *g", device.has_pass_losses and "const bool adds")
    assume_global(x);
    assume_global(g);
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const int sequences = block()->sequences;
    const int count = sequences * v->label_count; % if readout == "probe"
    const int count = sequences * v->label_count, unlabelled = v->${device.labelled_length} - v->label_count; % else
    for (int c = 0; c < CLASSES; c++) {
        for (int first = 0; first < WIDTH; first += SPAN) {
            const int k = first + threadIdx.x % SPAN;
            const real sum = add_parts(k < WIDTH ? weight_grad(x, count, k, c) : 0, SPAN);
            if (threadIdx.x < SPAN && k < WIDTH) ${weight_gradient} = ${new_gradient_value};
        }
    }
% if device.has_pass_losses and not device.class_table then
    const int span = CLASSES < THREADS ? CLASSES : THREADS;
    for (int first = 0; first < CLASSES; first += span) {
        const int c = first + (int)threadIdx.x % span;
        const real sum = add_parts(c < CLASSES ? sum_rows(count, span, w->logits + c, CLASS_COLUMNS) : 0, span);
        if ((int)threadIdx.x < span && c < CLASSES) g->output_bias[c] = adds ? g->output_bias[c] + sum : sum;
    }
% elseif not device.class_table then
    column_sums(count, CLASSES, CLASS_COLUMNS, w->logits, g->output_bias);
% end
    for (int e = threadIdx.x; e < sequences * v->${device.labelled_length} * (WIDTH / 4); e += THREADS) {
        const int k = e % (WIDTH / 4) * 4, t = e / (WIDTH / 4) % v->${device.labelled_length}, sequence = e / (WIDTH / 4) / v->${device.labelled_length};
        quad sum = {{0, 0, 0, 0}};
% if readout == "probe" then
        for (int n = sequence * v->label_count; n < (sequence + 1) * v->label_count; n++) {
            if (block()->place[n] != t) continue;
            const real *dlogits = w->logits + n * CLASS_COLUMNS;
% else
        if (t >= unlabelled) {
            const real *dlogits = w->logits + (sequence * v->label_count + t - unlabelled) * CLASS_COLUMNS;
% end
            for (int c = 0; c < CLASSES; c++) {
#pragma unroll
                for (int i = 0; i < 4; i++) sum.v[i] += dlogits[c] * v->p->${weight_element};
            }
        }
        *(quad *)(w->${device.readout_gradient} + 4 * e) = sum;
    }
    __syncthreads();
}
