/* Similarity of attention: compares the attention weights of two models layer by layer, for all pairs of models.
 *
 *     similarity LIST
 *
 * LIST is text. Its first line has five integers: models, layers, rows of a layer, keys in a row, bytes of a number (4
 * or 8, in this machine's byte order). Then each model has a line with the path of a file, and a line with the byte
 * offsets of its layers in this file. At each offset are rows x keys numbers, a row of weights for each example, head
 * and query. Prints a line for each pair of models and each layer, and one with layer -1 for all layers together:
 *
 *     first second layer cosine divergence
 *
 * The cosine compares two vectors, each the concatenation of all rows. The divergence is the mean over rows of the
 * Jensen-Shannon divergence in nats, H((p + q) / 2) - (H(p) + H(q)) / 2, from 0 to ln 2.
 *
 * Exit codes: 0 success, 1 wrong file, 2 wrong usage, 4 environment.
 */
#define _FILE_OFFSET_BITS 64
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { DONE = 0, INPUT = 1, USAGE = 2, ENVIRONMENT = 4 };
enum { MAX_MODELS = 1 << 16, MAX_LAYERS = 1 << 10, LONGEST_PATH = 1 << 12 };

typedef struct maps {
    int models, layers, keys, bytes; /* bytes: size of a number in the files */
    int64_t rows;                    /* number of rows of a layer */
    float *weights;                  /* [models][layers][rows][keys] */
    double *squares;                 /* [models][layers] sums of squares */
    double *entropy;                 /* [models][layers] sums over rows */
} maps;

static int print_problem(int code, const char *problem, const char *path) {
    fprintf(stderr, "similarity: %s: %s\n", path, problem);
    return code;
}

static size_t get_layer_size(const maps *m) { return (size_t)m->rows * (size_t)m->keys; }

static const float *get_layer(const maps *m, int model, int layer) {
    return m->weights + ((size_t)model * (size_t)m->layers + (size_t)layer) * get_layer_size(m);
}

static double compute_entropy_term(double p) { return p > 0 ? -p * log(p) : 0; }

static int read_layer(maps *m, FILE *file, int model, int layer, const char *path) {
    size_t count = get_layer_size(m), layer_index = (size_t)model * (size_t)m->layers + (size_t)layer;
    float *out = m->weights + layer_index * count;
    for (size_t i = 0; i < count; i++) {
        double value64;
        if (fread(m->bytes == 4 ? (void *)&out[i] : (void *)&value64, (size_t)m->bytes, 1, file) != 1)
            return print_problem(INPUT, "is truncated", path);
        if (m->bytes == 8) out[i] = (float)value64;
        if (!(out[i] >= 0 && out[i] <= 1.001F)) return print_problem(INPUT, "a weight is not from 0 to 1", path);
        m->squares[layer_index] += (double)out[i] * (double)out[i];
        m->entropy[layer_index] += compute_entropy_term((double)out[i]);
    }
    return DONE;
}

static int read_model(maps *m, FILE *list, int model) {
    char path[LONGEST_PATH];
    int code = DONE;
    if (fgets(path, sizeof path, list) == NULL) return print_problem(INPUT, "ends before its last model", "LIST");
    path[strcspn(path, "\n")] = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return print_problem(INPUT, "cannot be opened", path);
    for (int layer = 0; code == DONE && layer < m->layers; layer++) {
        int64_t offset;
        if (fscanf(list, "%" SCNd64, &offset) != 1)
            code = print_problem(INPUT, "LIST has too few offsets, or one that is not an integer, for this file", path);
        else if (fseeko(file, (off_t)offset, SEEK_SET) != 0)
            code = print_problem(INPUT, "LIST has an offset that is outside of this file", path);
        else code = read_layer(m, file, model, layer, path);
    }
    fclose(file);
    if (code == DONE && fgetc(list) != '\n') code = print_problem(INPUT, "a line of offsets has further text", "LIST");
    return code;
}

static int open_maps(maps *m, FILE *list) {
    *m = (maps){0};
    if (fscanf(list, "%d %d %" SCNd64 " %d %d", &m->models, &m->layers, &m->rows, &m->keys, &m->bytes) != 5 ||
        fgetc(list) != '\n' || m->models < 1 || m->models > MAX_MODELS || m->layers < 1 || m->layers > MAX_LAYERS ||
        m->rows < 1 || m->rows > INT32_MAX || m->keys < 1 || m->keys > INT32_MAX || (m->bytes != 4 && m->bytes != 8))
        return print_problem(INPUT, "does not begin with models, layers, rows, keys and bytes", "LIST");
    size_t layer_count = (size_t)m->models * (size_t)m->layers;
    if (get_layer_size(m) > SIZE_MAX / layer_count / sizeof *m->weights)
        return print_problem(INPUT, "the maps need more memory than can be addressed", "LIST");
    m->weights = malloc(layer_count * get_layer_size(m) * sizeof *m->weights);
    m->squares = calloc(layer_count, sizeof *m->squares);
    m->entropy = calloc(layer_count, sizeof *m->entropy);
    if (m->weights == NULL || m->squares == NULL || m->entropy == NULL)
        return print_problem(ENVIRONMENT, "no memory for all maps", "LIST");
    return DONE;
}

static void close_maps(maps *m) {
    free(m->weights);
    free(m->squares);
    free(m->entropy);
}

/* Adds to *product the inner product of two layers, and to *mixed the entropy of the mean of their rows. */
static void compare_layer(const maps *m, int first, int second, int layer, double *product, double *mixed) {
    const float *a = get_layer(m, first, layer), *b = get_layer(m, second, layer);
    for (size_t i = 0, count = get_layer_size(m); i < count; i++) {
        double p = (double)a[i], q = (double)b[i];
        *product += p * q;
        *mixed += compute_entropy_term((p + q) / 2);
    }
}

static void print_line(int first, int second, int layer, double cosine, double divergence) {
    printf("%d %d %d %.9g %.9g\n", first, second, layer, cosine, divergence > 0 ? divergence : 0.0);
}

static void compare(const maps *m, int first, int second) {
    double product = 0, first_squares = 0, second_squares = 0, divergence = 0, rows = (double)m->rows;
    for (int layer = 0; layer < m->layers; layer++) {
        double layer_product = 0, mixed = 0;
        const double *squares = m->squares, *entropy = m->entropy;
        size_t i = (size_t)first * (size_t)m->layers + (size_t)layer,
               j = (size_t)second * (size_t)m->layers + (size_t)layer;
        compare_layer(m, first, second, layer, &layer_product, &mixed);
        double layer_divergence = (mixed - (entropy[i] + entropy[j]) / 2) / rows;
        print_line(first, second, layer, layer_product / sqrt(squares[i] * squares[j]), layer_divergence);
        product += layer_product;
        first_squares += squares[i];
        second_squares += squares[j];
        divergence += layer_divergence / m->layers;
    }
    print_line(first, second, -1, product / sqrt(first_squares * second_squares), divergence);
}

int main(int count, char **words) {
    if (count != 2) {
        fprintf(stderr, "Usage: similarity LIST\n");
        return USAGE;
    }
    FILE *list = fopen(words[1], "r");
    if (list == NULL) return print_problem(INPUT, "cannot be opened", words[1]);
    maps m;
    int code = open_maps(&m, list);
    for (int model = 0; code == DONE && model < m.models; model++) code = read_model(&m, list, model);
    for (int first = 0; code == DONE && first < m.models; first++)
        for (int second = first + 1; second < m.models; second++) compare(&m, first, second);
    close_maps(&m);
    fclose(list);
    return code == DONE && fflush(stdout) != 0 ? ENVIRONMENT : code;
}
