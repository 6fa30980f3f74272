/* Hand-written device code of the toy model (support/toy_program.h). Its numbers are those of the CPU program with as
 * many shards, bit for bit, for any number of blocks. One thread of a block computes whole shards and updates, since
 * these tests are about the engine. The team shares the position rows; the means of a shard's sequences are in the
 * block's workspace. */
enum { CHUNK = 4096, STORAGE = 2 * CHUNK, CHUNKS = 2, PIECES = STORAGE / LH_CUDA_PIECE };
enum { TOKEN = 0, POSITION = 32, SCALE = 352, OUTPUT = 4080, BIAS = 4112 }; /* offsets of tensors in the parameters */
enum { WIDTH = 4, CLASSES = 5 };

/* Synchronises all threads of the team's blocks; *barriers counts the calls. */
static __device__ void meet(unsigned int *arrivals, int team, unsigned int *barriers) {
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned int expected_arrivals = ++*barriers * (unsigned int)team;
        __threadfence();
        atomicAdd(arrivals, 1u);
        while (*(volatile unsigned int *)arrivals < expected_arrivals) __nanosleep(100);
        __threadfence();
    }
    __syncthreads();
}

/* Whether the tables t are those for the lengths of a step. */
static __device__ bool has_tables(const lh_cuda_step *step, const real *t) {
    return t[step->T[0]] == (real)0.5 && (step->T[1] == 0 || t[(int)t[0] + step->T[1]] == (real)0.25);
}

/* Returns the number of input tokens: with one stream those before the labels, with two the tokens of the first. */
static __device__ int count_inputs(const lh_cuda_step *step) {
    return step->T[1] > 0 ? step->T[0] : step->T[0] - step->label_count;
}

/* Returns the token of a label in the second stream; -1: there is none. */
static __device__ int get_token(const lh_cuda_step *step, int s, int label) {
    int T = step->T[1], labels = step->label_count;
    if (T == 0) return -1;
    int place = step->place != 0 ? step->place[s * labels + label] : T - labels + label;
    return step->tokens[1][s * T + place];
}

/* Computes h of one label from the mean m of its sequence, with dropout if `has_dropout`; keep: the factors of dropout,
 * 0 where dropped, else 1 / (1 - p), or 1 without dropout. */
static __device__ void compute_hidden(const lh_cuda_step *step, const real *p, const int *rows, const real *m,
                                      int label, int token, unsigned int example, bool has_dropout, double *keep,
                                      real *h) {
    const real *row = p + POSITION + WIDTH * rows[label];
    unsigned int counter[4] = {(unsigned int)label, lh_site(LH_DOMAIN_DROPOUT, 0, 0), example, step->step}, word[4];
    lh_key key = {{step->key[0], step->key[1]}};
    lh_philox(counter, key, word);
    for (int d = 0; d < WIDTH; d++) {
        keep[d] = !has_dropout ? 1.0 : word[d] >> 16 >= 6554 ? 1.0 / 0.9 : 0.0;
        real sum = m[d] * p[SCALE + d] + row[d];
        if (token >= 0) sum += p[TOKEN + WIDTH * token + d];
        h[d] = sum * (real)keep[d];
    }
}

/* Computes logits and probabilities of the classes, and returns the loss. */
static __device__ double classify(const real *p, const real *h, int label, real *logits, double *probability) {
    double sum = 0, max_logit = -1e300;
    for (int c = 0; c < CLASSES; c++) {
        logits[c] = p[BIAS + c];
        for (int d = 0; d < WIDTH; d++) logits[c] += h[d] * p[OUTPUT + 8 * d + c];
        if (logits[c] > max_logit) max_logit = logits[c];
    }
    for (int c = 0; c < CLASSES; c++) sum += probability[c] = lh_exp(logits[c] - max_logit);
    for (int c = 0; c < CLASSES; c++) probability[c] /= sum;
    return lh_log(sum) + max_logit - logits[label];
}

static __device__ int choose_class(const real *logits) {
    int best = 0;
    for (int c = 1; c < CLASSES; c++)
        if (logits[c] > logits[best]) best = c;
    return best;
}

static __device__ bool is_right(const real *logits, int label) { return choose_class(logits) == label; }

/* Computes the mean m of the vectors of tokens. */
static __device__ void compute_mean(const real *p, const unsigned short *tokens, int count, real *m) {
    for (int d = 0; d < WIDTH; d++) {
        real sum = 0;
        for (int i = 0; i < count; i++) sum += p[TOKEN + WIDTH * tokens[i] + d];
        m[d] = sum / (real)count;
    }
}

/* Adds the gradients of one label to the parameters and to the mean. */
static __device__ void add_gradients(const real *p, const real *m, const real *h, const double *keep, int token,
                                     const double *dlogits, real *gradient, real *dm) {
    for (int c = 0; c < CLASSES; c++) gradient[BIAS + c] += (real)dlogits[c];
    for (int d = 0; d < WIDTH; d++) {
        double dh = 0;
        for (int c = 0; c < CLASSES; c++) {
            gradient[OUTPUT + 8 * d + c] += (real)(h[d] * dlogits[c]);
            dh += p[OUTPUT + 8 * d + c] * dlogits[c];
        }
        gradient[SCALE + d] += (real)(dh * keep[d] * m[d]);
        dm[d] += (real)(dh * keep[d] * p[SCALE + d]);
        if (token >= 0) gradient[TOKEN + WIDTH * token + d] += (real)(dh * keep[d]);
    }
}

static __device__ void train_sequence(const lh_cuda_step *step, const real *p, const int *rows, int s, const real *m,
                                      real *gradient, lh_cuda_sums *sums) {
    int labels = step->label_count, inputs = count_inputs(step), errors = 0;
    const unsigned short *tokens = step->tokens[0] + s * step->T[0];
    real dm[WIDTH] = {0}, h[WIDTH], logits[CLASSES];
    for (int j = 0; j < labels; j++) {
        double keep[WIDTH], probability[CLASSES];
        int label = step->labels[s * labels + j], counted = step->mask[s * labels + j];
        int token = get_token(step, s, j);
        compute_hidden(step, p, rows, m, j, token, (unsigned int)s, true, keep, h);
        sums->loss += classify(p, h, label, logits, probability);
        bool right = is_right(logits, label);
        sums->counted += counted;
        sums->correct += counted && right;
        errors += counted && !right;
        probability[label] -= 1.0;
        for (int c = 0; c < CLASSES; c++) probability[c] *= step->loss_scale;
        add_gradients(p, m, h, keep, token, probability, gradient, dm);
    }
    for (int i = 0; i < inputs; i++)
        for (int d = 0; d < WIDTH; d++) gradient[TOKEN + WIDTH * tokens[i] + d] += dm[d] / (real)inputs;
    sums->exact_ones += errors == 0;
}

static __device__ int find_shard_start(int sequences, int shards, int shard) {
    int remainder = sequences % shards;
    return shard * (sequences / shards) + (shard < remainder ? shard : remainder);
}

static __device__ void train_shard(const lh_cuda_train *a, const lh_cuda_replica *r, const lh_cuda_step *step,
                                   int shard, char *workspace) {
    int first = find_shard_start(step->sequences, a->shards, shard);
    int end = find_shard_start(step->sequences, a->shards, shard + 1);
    const real *p = (const real *)r->parameters;
    real *gradient = (real *)(r->partials + shard * a->partial_stride), *means = (real *)workspace;
    lh_cuda_sums sums = {0, 0, 0, 0};
    if (!has_tables(step, (const real *)a->tables)) sums.loss = NAN;
    for (int s = first; s < end; s++)
        compute_mean(p, step->tokens[0] + s * step->T[0], count_inputs(step), means + WIDTH * (s - first));
    for (int s = first; s < end; s++)
        train_sequence(step, p, (const int *)r->shared, s, means + WIDTH * (s - first), gradient, &sums);
    r->shard_sums[shard] = sums;
}

/* Sums one chunk of the gradient over shards in order, computes its squares, and sets the shards' parts to zero. */
static __device__ void fold_chunk(const lh_cuda_train *a, const lh_cuda_replica *r, int chunk) {
    real *gradient = (real *)r->gradient;
    for (int i = chunk * CHUNK + (int)threadIdx.x; i < (chunk + 1) * CHUNK; i += (int)blockDim.x) {
        real sum = 0;
        for (int shard = 0; shard < a->shards; shard++) {
            real *partial = (real *)(r->partials + shard * a->partial_stride);
            sum += partial[i];
            partial[i] = 0;
        }
        gradient[i] = sum;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    double squares = 0;
    for (int i = chunk * CHUNK; i < (chunk + 1) * CHUNK; i++) squares += (double)gradient[i] * (double)gradient[i];
    r->piece_sums[chunk] = squares;
}

static __device__ void update_chunk(const lh_cuda_replica *r, const lh_cuda_step *step, double norm, int chunk) {
    real *p = (real *)r->parameters, *m = (real *)r->moment1, *v = (real *)r->moment2, *g = (real *)r->gradient;
    double clip = norm >= 1.0 ? 1.0 / norm : 1.0, parameters = 0, changes = 0;
    for (int i = chunk * CHUNK; i < (chunk + 1) * CHUNK; i++) {
        double x = g[i] * clip;
        m[i] = (real)(0.9 * m[i] + 0.1 * x);
        v[i] = (real)(0.999 * v[i] + 0.001 * x * x);
        real old_value = p[i];
        p[i] = (real)(p[i] - step->rate * m[i] / (sqrt(v[i] * step->correct2) + 1e-8));
        parameters += (double)p[i] * (double)p[i];
        changes += (double)(p[i] - old_value) * (double)(p[i] - old_value);
    }
    r->piece_sums[PIECES + chunk] = parameters;
    r->piece_sums[2 * PIECES + chunk] = changes;
}

/* Adds up the sums of shards and the squares of chunks. */
static __device__ lh_cuda_result add_sums(const lh_cuda_train *a, const lh_cuda_replica *r) {
    lh_cuda_result result = {};
    for (int shard = 0; shard < a->shards; shard++) {
        result.sums.loss += r->shard_sums[shard].loss;
        result.sums.counted += r->shard_sums[shard].counted;
        result.sums.correct += r->shard_sums[shard].correct;
        result.sums.exact_ones += r->shard_sums[shard].exact_ones;
    }
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        double squares = r->piece_sums[chunk];
        result.gradient_squares += squares;
        if (squares > result.heavy_squares) {
            result.heavy_squares = squares;
            result.heavy_chunk = chunk;
        }
    }
    return result;
}

static __device__ void train_steps(const lh_cuda_train &a) {
    int rank = (int)blockIdx.x % a.team, index = (int)blockIdx.x / a.team;
    const lh_cuda_replica *r = a.replicas + index;
    unsigned int barriers = 0;
    for (int i = 0; i < a.count; i++) {
        const lh_cuda_step *step = a.steps + index * a.count + i;
        if (rank == 0)
            for (int j = (int)threadIdx.x; j < step->label_count; j += (int)blockDim.x)
                ((int *)r->shared)[j] = step->draws[j];
        meet(r->arrivals, a.team, &barriers);
        for (int shard = rank; shard < a.shards && threadIdx.x == 0; shard += a.team)
            train_shard(&a, r, step, shard, a.workspace + blockIdx.x * a.workspace_stride);
        meet(r->arrivals, a.team, &barriers);
        for (int chunk = rank; chunk < CHUNKS; chunk += a.team) fold_chunk(&a, r, chunk);
        meet(r->arrivals, a.team, &barriers);
        lh_cuda_result result = add_sums(&a, r);
        double norm = sqrt(result.gradient_squares);
        result.state = isfinite(result.sums.loss) && isfinite(norm) ? LH_CUDA_DONE : LH_CUDA_NOT_FINITE;
        for (int chunk = rank; chunk < CHUNKS && result.state == LH_CUDA_DONE && threadIdx.x == 0; chunk += a.team)
            update_chunk(r, step, norm, chunk);
        meet(r->arrivals, a.team, &barriers);
        for (int chunk = 0; chunk < CHUNKS && result.state == LH_CUDA_DONE; chunk++) {
            result.parameter_squares += r->piece_sums[PIECES + chunk];
            result.update_squares += r->piece_sums[2 * PIECES + chunk];
        }
        if (rank == 0 && threadIdx.x == 0) a.results[index * a.count + i] = result;
        if (result.state != LH_CUDA_DONE) return;
    }
}

extern "C" __global__ void toy_train_kernel(const lh_cuda_train a) { train_steps(a); }

/* Trains the toy as a wide model: the whole step is in the last phase. */
extern "C" __global__ void toy_wide_train_kernel(const lh_cuda_train a, const lh_cuda_place place) {
    if (place.before && place.before->state != LH_CUDA_DONE) return;
    if (place.phase == LH_CUDA_END) train_steps(a);
}

static __device__ void answer_sequence(const lh_cuda_evaluate *a, int model, int s, real *m) {
    const lh_cuda_step *step = a->steps + model;
    const real *p = (const real *)a->parameters[model];
    const int *positions = (const int *)(a->shared + model * a->shared_stride);
    int labels = step->label_count, place = model * a->sequences + s;
    lh_cuda_answer answer = {has_tables(step, (const real *)a->tables) ? 0.0 : NAN, 0, 0};
    compute_mean(p, step->tokens[0] + s * step->T[0], count_inputs(step), m);
    for (int j = 0; j < labels; j++) {
        double keep[WIDTH], probability[CLASSES];
        real h[WIDTH], logits[CLASSES];
        int label = step->labels[s * labels + j], counted = step->mask[s * labels + j];
        compute_hidden(step, p, positions, m, j, get_token(step, s, j), (unsigned int)s, false, keep, h);
        answer.loss += classify(p, h, label, logits, probability);
        answer.counted += counted;
        answer.correct += counted && is_right(logits, label);
        if (a->classes) a->classes[place * labels + j] = choose_class(logits);
        for (int c = 0; c < CLASSES && a->logits != 0; c++)
            ((real *)a->logits)[(place * labels + j) * CLASSES + c] = logits[c];
    }
    a->answers[place] = answer;
}

extern "C" __global__ void toy_evaluate_kernel(const lh_cuda_evaluate a) {
    unsigned int barriers = 0;
    int model = (int)blockIdx.x / a.team, rank = (int)blockIdx.x % a.team;
    const lh_cuda_step *step = a.steps + model;
    if (rank == 0)
        for (int j = (int)threadIdx.x; j < step->label_count; j += (int)blockDim.x)
            ((int *)(a.shared + model * a.shared_stride))[j] = step->draws[j];
    meet(a.arrivals + model, a.team, &barriers);
    real *means = (real *)(a.workspace + blockIdx.x * a.workspace_stride);
    int stride = a.team * a.group, end = a.end < step->sequences ? a.end : step->sequences;
    for (int s = a.first + rank * a.group; s < end && threadIdx.x == 0; s += stride)
        for (int i = 0; i < a.group && s + i < end; i++) answer_sequence(&a, model, s + i, means + WIDTH * i);
}
