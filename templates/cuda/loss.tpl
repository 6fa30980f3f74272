/* The output layer at the labelled tokens, the last label_count of every sequence, and softmax cross-entropy: a warp
 * per token, a lane per class. Writes the workspace: logits, losses, correct; in training logits become gradients. */
NOINLINE void classify(const real *x, const bool training) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const unsigned short *labels = block()->labels;
    const int lane = threadIdx.x % WARP, count = block()->sequences * v->label_count;
    for (int n = threadIdx.x / WARP; n < count; n += WARPS) {
        const int row = n / v->label_count * v->T + v->T - v->label_count + n % v->label_count, label = labels[n];
        real *logits = w->logits + n * CLASS_COLUMNS, largest = 0, sum = 0, chosen = 0;
        int best = CLASSES;
        for (int c = lane; c < CLASSES; c += WARP) {
            real logit = v->p->output_bias[c];
            for (int k = 0; k < WIDTH; k++) logit += x[row * WIDTH + k] * v->p->output[k * CLASS_COLUMNS + c];
            logits[c] = logit;
            if (best == CLASSES || logit > largest) {
                largest = logit;
                best = c;
            }
            if (c == label) chosen = logit;
        }
#pragma unroll
        for (int distance = WARP / 2; distance > 0; distance /= 2) {
            const real other = __shfl_xor_sync(0xffffffffu, largest, distance);
            const int at = __shfl_xor_sync(0xffffffffu, best, distance);
            if (at < CLASSES && (best == CLASSES || other > largest || (other == largest && at < best))) {
                largest = other;
                best = at;
            }
        }
        for (int c = lane; c < CLASSES; c += WARP) sum += exp_negative(logits[c] - largest);
        sum = warp_sum(sum);
        chosen = warp_sum(chosen);
        if (lane == 0) {
            w->losses[n] = log_real(sum) + (largest - chosen);
            w->correct[n] = best == label;
        }
        if (training) {
            const real scale = (real)block()->step.loss_scale;
            for (int c = lane; c < CLASSES; c += WARP)
                logits[c] = (exp_negative(logits[c] - largest) / sum - (c == label ? 1 : 0)) * scale;
        }
    }
    __syncthreads();
}

/* Sums over a shard's answers, in a fixed order. Written by one thread. */
INLINE void add_up(lh_cuda_sums *to) {
    const workspace *w = &block()->work;
    const unsigned char *mask = block()->mask;
    const int label_count = block()->view.label_count;
    double loss = 0, counted = 0, correct = 0, exact = 0;
    for (int sequence = threadIdx.x; sequence < block()->sequences; sequence += THREADS) {
        int asked = 0, right = 0;
        for (int n = sequence * label_count; n < (sequence + 1) * label_count; n++) {
            loss += w->losses[n];
            asked += mask[n];
            right += mask[n] & w->correct[n];
        }
        counted += asked;
        correct += right;
        exact += asked == right;
    }
    loss = block_sum(loss);
    counted = block_sum(counted);
    correct = block_sum(correct);
    exact = block_sum(exact);
    if (threadIdx.x == 0) {
        to->loss = loss;
        to->counted = (long long)counted;
        to->correct = (long long)correct;
        to->exact_ones = (long long)exact;
    }
}

/* From the gradients of the logits, in w->logits, those of the output layer, and w->gradient [rows][WIDTH]. */
NOINLINE void classify_backward(const real *x, ${cuda.gradients} *g) {
    const step_view *v = &block()->view;
    const workspace *w = &block()->work;
    const int sequences = block()->sequences;
    const int count = sequences * v->label_count, unlabelled = v->T - v->label_count;
    for (int e = threadIdx.x; e < WIDTH * CLASSES; e += THREADS) {
        const int k = e / CLASSES, c = e % CLASSES;
        real sum = 0;
        for (int n = 0; n < count; n++) {
            const int row = n / v->label_count * v->T + unlabelled + n % v->label_count;
            sum += x[row * WIDTH + k] * w->logits[n * CLASS_COLUMNS + c];
        }
        g->output[k * CLASS_COLUMNS + c] = sum;
    }
    for (int c = threadIdx.x; c < CLASSES; c += THREADS) {
        real sum = 0;
        for (int n = 0; n < count; n++) sum += w->logits[n * CLASS_COLUMNS + c];
        g->output_bias[c] = sum;
    }
    for (int e = threadIdx.x; e < sequences * v->T * WIDTH; e += THREADS) {
        const int k = e % WIDTH, t = e / WIDTH % v->T, sequence = e / WIDTH / v->T;
        real sum = 0;
        if (t >= unlabelled) {
            const real *dlogits = w->logits + (sequence * v->label_count + t - unlabelled) * CLASS_COLUMNS;
            for (int c = 0; c < CLASSES; c++) sum += dlogits[c] * v->p->output[k * CLASS_COLUMNS + c];
        }
        w->gradient[e] = sum;
    }
    __syncthreads();
}
