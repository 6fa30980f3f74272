% local dbranch = dropout.kind == "bernoulli" and "dbranch" or "gradient"
/* --- the launches of a step ------------------------------------------------------------------------------------- */

enum { MOST_LAUNCHES = 5 + ${normaliser.directional and 23 or 20} * LAYERS };

/* A list of launches as it grows; products are over so many rows. */
typedef struct launch_list {
    lh_cuda_launch *next;
    int rows;
} launch_list;

static void phase(launch_list *list, int which, int layer) {
    *list->next++ = (lh_cuda_launch){.phase = which, .layer = layer};
}

/* y[rows][out] = x[rows][in] weight[in][out] */
static void forward(launch_list *list, int in, int out, const real *x, const real *weight, real *y) {
    *list->next++ = (lh_cuda_launch){
            .phase = LH_CUDA_PRODUCT,
            .product = {.rows = list->rows, .columns = out, .inner = in, .a = x, .b = weight, .out = y},
    };
}

/* Of that product the gradient of the weight, dweight[in][out], and that of x, dx[rows][in], or added to it. */
static void backward(launch_list *list, int in, int out, const real *x, const real *weight, const real *dy,
        real *dweight, bool adds, real *dx) {
    *list->next++ = (lh_cuda_launch){
            .phase = LH_CUDA_PRODUCT,
            .product = {.rows = in, .columns = out, .inner = list->rows, .turned_a = true, .a = x, .b = dy,
                    .out = dweight},
    };
    *list->next++ = (lh_cuda_launch){
            .phase = LH_CUDA_PRODUCT,
            .product = {.rows = list->rows, .columns = in, .inner = out, .turned_b = true, .adds = adds, .a = dy,
                    .b = weight, .out = dx},
    };
}

/* Layer l of a pass, its input at x; out: its output. */
static void layer_forward(launch_list *list, int l, const layer_parameters *p, const workspace *w,
        const layer_state *s, const real *x) {
    forward(list, WIDTH, 3 * WIDTH, x, p->query_key_value, s->query_key_value);
% if normaliser.directional then
    forward(list, WIDTH, DIRECTION_WIDTH, x, p->direction, s->direction);
% end
    phase(list, LH_CUDA_ATTEND, l);
    forward(list, WIDTH, WIDTH, s->attended, p->attention_output, w->branch);
    phase(list, LH_CUDA_NORM1, l);
    forward(list, WIDTH, FEEDFORWARD, s->norm1, p->up, s->hidden);
    phase(list, LH_CUDA_HIDDEN, l);
    forward(list, FEEDFORWARD, WIDTH, s->hidden, p->down, w->branch);
    phase(list, LH_CUDA_NORM2, l);
}

static void layer_backward(launch_list *list, int l, const layer_parameters *p, layer_parameters *g,
        const workspace *w, const layer_state *s, const real *x) {
    phase(list, LH_CUDA_NORM2_BACK, l);
    backward(list, FEEDFORWARD, WIDTH, s->hidden, p->down, w->${dbranch}, g->down, false, w->dhidden);
    phase(list, LH_CUDA_HIDDEN_BACK, l);
    backward(list, WIDTH, FEEDFORWARD, s->norm1, p->up, w->dhidden, g->up, true, w->gradient);
    phase(list, LH_CUDA_NORM1_BACK, l);
    backward(list, WIDTH, WIDTH, s->attended, p->attention_output, w->${dbranch}, g->attention_output, false,
            w->dattended);
    phase(list, LH_CUDA_ATTEND_BACK, l);
    backward(list, WIDTH, 3 * WIDTH, x, p->query_key_value, w->dquery_key_value, g->query_key_value, true, w->gradient);
% if normaliser.directional then
    backward(list, WIDTH, DIRECTION_WIDTH, x, p->direction, w->ddirection, g->direction, true, w->gradient);
% end
}

/* lh_cuda_program.launches */
static int launches(const lh_shape *shape, lh_mode mode, void *memory, const void *from, void *to,
        lh_cuda_launch *first) {
    const bool training = mode == LH_MODE_TRAIN;
    const int sequences = shape->sequences, T = shape->length[0];
    const parameters *p = from;
    parameters *g = to;
    launch_list list = {first, sequences * T};
    workspace w = {0};
    layer_state layer[LAYERS];
    size_t used = 0;
    lay_out(&w, memory, sequences, T, shape->labels, training);
    for (int l = 0; l < LAYERS; l++) {
        if (!training) used = 0;
        lay_out_layer(&layer[l], w.layers, &used, sequences, T);
    }
% if cuda.begins then
    phase(&list, LH_CUDA_BEGIN, 0);
% end
    phase(&list, LH_CUDA_EMBED, 0);
    for (int l = 0; l < LAYERS; l++)
        layer_forward(&list, l, &p->layer[l], &w, &layer[l], training && l > 0 ? layer[l - 1].output : w.input);
    phase(&list, LH_CUDA_CLASSIFY, LAYERS - 1);
    if (!training) return (int)(list.next - first);
    for (int l = LAYERS - 1; l >= 0; l--)
        layer_backward(&list, l, &p->layer[l], &g->layer[l], &w, &layer[l], l > 0 ? layer[l - 1].output : w.input);
    phase(&list, LH_CUDA_EMBED_BACK, 0);
    phase(&list, LH_CUDA_END, 0);
    return (int)(list.next - first);
}
