/* The orthogonal Procrustes problem: the distance of tables from a reference after the best rotation and reflection.
 *
 *     procrustes TABLES [ROTATED]
 *
 * TABLES has this content, in the byte order of this machine:
 *
 *     int32     count, rows, columns
 *     doubles   the reference B, row-major
 *     doubles   `count` tables A, row-major
 *
 * Prints |A^T B|_*, the nuclear norm of A^T B, on a line for each table A. The smallest |A Q - B|^2 of an orthogonal Q
 * is |A|^2 + |B|^2 - 2 |A^T B|_*. The file ROTATED gets the table A Q for each A, as doubles.
 *
 * Exit codes: 0 success, 1 wrong file, 2 wrong usage, 4 environment.
 *
 * Method (Schoenemann, Psychometrika 31 (1966) 1), with LAPACK:
 *
 *     A^T = P R,  B^T = S W       QR decompositions
 *     R W^T = U D V^T             singular values; a square matrix of size min(rows, columns)
 *     A^T B = P (U D V^T) S^T     so |A^T B|_* is the sum of the singular values D
 *     Q = P U V^T S^T
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work, const int *lwork,
             int *info);
void dorgqr_(const int *m, const int *n, const int *k, double *a, const int *lda, const double *tau, double *work,
             const int *lwork, int *info);
void dgesvd_(const char *jobu, const char *jobvt, const int *m, const int *n, double *a, const int *lda, double *s,
             double *u, const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork, int *info,
             size_t jobu_length, size_t jobvt_length);

enum {
    MAX_SIDE = 1 << 14,     /* largest number of rows or columns of a table */
    MAX_ELEMENTS = 1 << 24, /* largest number of elements of a table */
    BLOCK = 64              /* LAPACK gets a workspace with which it processes this number of columns together */
};
enum { DONE = 0, INPUT = 1, USAGE = 2, ENVIRONMENT = 4 };

/* Matrices are stored by columns, as in LAPACK, so LAPACK sees a row-major table as its transpose. */
typedef struct problem {
    int rows, columns, rank;              /* sizes of the tables; rank: the smaller of rows and columns */
    int work_count;                       /* elements of work */
    double *reference_q;                  /* [columns][rank] S, with orthonormal columns */
    double *reference_r;                  /* [rank][rows] W, upper trapezoidal */
    double *q, *r;                        /* P and R of the current table A */
    double *cross;                        /* [rank][rank] R W^T */
    double *u, *vt, *singular, *rotation; /* [rank][rank]; singular: [rank] */
    double *tau, *work;
    double *rotated; /* [rows][columns], row-major */
} problem;

static double *allocate_vector(size_t count) {
    double *memory = calloc(count > 0 ? count : 1, sizeof *memory);
    if (memory == NULL) {
        fprintf(stderr, "procrustes: no memory for %zu numbers\n", count);
        exit(ENVIRONMENT);
    }
    return memory;
}

static void problem_init(problem *p, int rows, int columns) {
    int k = rows < columns ? rows : columns;
    size_t table_size = (size_t)rows * (size_t)columns, square_size = (size_t)k * (size_t)k;
    *p = (problem){.rows = rows, .columns = columns, .rank = k, .work_count = BLOCK * (rows + columns)};
    double **tables[] = {&p->reference_q, &p->reference_r, &p->q, &p->r, &p->rotated};
    double **squares[] = {&p->cross, &p->u, &p->vt, &p->rotation};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) *tables[i] = allocate_vector(table_size);
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++) *squares[i] = allocate_vector(square_size);
    p->singular = allocate_vector((size_t)k);
    p->tau = allocate_vector((size_t)k);
    p->work = allocate_vector((size_t)p->work_count);
}

static void problem_free(problem *p) {
    double *vectors[] = {p->reference_q, p->reference_r, p->q,   p->r,    p->cross,    p->u,
                         p->vt,          p->singular,    p->tau, p->work, p->rotation, p->rotated};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) free(vectors[i]);
}

/* Ends the program if a LAPACK routine rejected an argument or did not converge. */
static void check_lapack(int info, const char *routine) {
    if (info == 0) return;
    fprintf(stderr, "procrustes: LAPACK's %s ended with %d\n", routine, info);
    exit(ENVIRONMENT);
}

/* Factors the transpose of a table by QR.
 *
 *     q   on entry the row-major table, on return the factor with orthonormal columns
 *     r   the upper trapezoidal factor
 */
static void decompose(problem *p, double *q, double *r) {
    int k = p->rank, info;
    dgeqrf_(&p->columns, &p->rows, q, &p->columns, p->tau, p->work, &p->work_count, &info);
    check_lapack(info, "dgeqrf");
    for (int column = 0; column < p->rows; column++)
        for (int row = 0; row < k; row++)
            r[row + (size_t)column * (size_t)k] = row <= column ? q[row + (size_t)column * (size_t)p->columns] : 0.0;
    dorgqr_(&p->columns, &k, &k, q, &p->columns, p->tau, p->work, &p->work_count, &info);
    check_lapack(info, "dorgqr");
}

/* out[m][n] = left[m][inner] right[inner][n], all stored by columns; transposed: right is stored as [n][inner]. */
static void multiply(int m, int n, int inner, const double *left, const double *right, int transposed, double *out) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double sum = 0;
            for (int l = 0; l < inner; l++)
                sum += left[i + (size_t)l * (size_t)m] *
                       right[transposed ? j + (size_t)l * (size_t)n : l + (size_t)j * (size_t)inner];
            out[i + (size_t)j * (size_t)m] = sum;
        }
}

/* The table A is in p->q. */
static double compute_nuclear_norm(problem *p) {
    int k = p->rank, info;
    decompose(p, p->q, p->r);
    multiply(k, k, p->rows, p->r, p->reference_r, 1, p->cross);
    dgesvd_("A", "A", &k, &k, p->cross, &k, p->singular, p->u, &k, p->vt, &k, p->work, &p->work_count, &info, 1, 1);
    check_lapack(info, "dgesvd");
    double sum = 0;
    for (int i = k - 1; i >= 0; i--) sum += p->singular[i];
    return sum;
}

/* Writes A Q = R^T (U V^T) S^T to p->rotated, after compute_nuclear_norm. */
static void rotate(problem *p) {
    int k = p->rank;
    multiply(k, k, k, p->u, p->vt, 0, p->rotation);
    for (int row = 0; row < p->rows; row++)
        for (int column = 0; column < p->columns; column++) {
            double sum = 0;
            for (int j = 0; j < k; j++) {
                double coefficient = 0;
                for (int i = 0; i <= row && i < k; i++)
                    coefficient += p->r[i + (size_t)row * (size_t)k] * p->rotation[i + (size_t)j * (size_t)k];
                sum += coefficient * p->reference_q[column + (size_t)j * (size_t)p->columns];
            }
            p->rotated[(size_t)row * (size_t)p->columns + (size_t)column] = sum;
        }
}

static int read_table(FILE *file, const problem *p, double *out, const char *path) {
    size_t count = (size_t)p->rows * (size_t)p->columns;
    if (fread(out, sizeof *out, count, file) != count) {
        fprintf(stderr, "procrustes: %s: is truncated; expected tables of %d x %d doubles\n", path, p->rows,
                p->columns);
        return INPUT;
    }
    for (size_t i = 0; i < count; i++)
        if (!isfinite(out[i])) {
            fprintf(stderr, "procrustes: %s: a table has a number that is not finite\n", path);
            return INPUT;
        }
    return DONE;
}

static int solve_all(problem *p, FILE *file, int count, const char *path, FILE *rotated) {
    int code = read_table(file, p, p->reference_q, path);
    if (code == DONE) decompose(p, p->reference_q, p->reference_r);
    for (int i = 0; code == DONE && i < count; i++) {
        size_t elements = (size_t)p->rows * (size_t)p->columns;
        code = read_table(file, p, p->q, path);
        if (code != DONE) break;
        printf("%.17g\n", compute_nuclear_norm(p));
        if (rotated == NULL) continue;
        rotate(p);
        if (fwrite(p->rotated, sizeof *p->rotated, elements, rotated) != elements) code = ENVIRONMENT;
    }
    return code;
}

static int run(FILE *file, const char *path, FILE *rotated) {
    int32_t header[3];
    if (fread(header, sizeof *header, 3, file) != 3 || header[0] < 0 || header[1] < 1 || header[1] > MAX_SIDE ||
        header[2] < 1 || header[2] > MAX_SIDE || (int64_t)header[1] * header[2] > MAX_ELEMENTS) {
        fprintf(stderr, "procrustes: %s: does not begin with count, rows and columns\n", path);
        return INPUT;
    }
    problem p;
    problem_init(&p, header[1], header[2]);
    int code = solve_all(&p, file, header[0], path, rotated);
    problem_free(&p);
    return code;
}

int main(int count, char **words) {
    if (count != 2 && count != 3) {
        fprintf(stderr, "Usage: procrustes TABLES [ROTATED]\n");
        return USAGE;
    }
    FILE *file = fopen(words[1], "rb"), *rotated = count == 3 ? fopen(words[2], "wb") : NULL;
    int code = file == NULL ? INPUT : count == 3 && rotated == NULL ? ENVIRONMENT : DONE;
    if (code != DONE) perror(file == NULL ? words[1] : words[2]);
    else code = run(file, words[1], rotated);
    if (file != NULL) fclose(file);
    if (rotated != NULL && fclose(rotated) != 0) code = ENVIRONMENT;
    if (fflush(stdout) != 0) code = ENVIRONMENT;
    return code;
}
