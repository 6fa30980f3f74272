/* runtime/cuda/library.h over the emulated cuBLASLt: products of every form, more shapes than are remembered, and
 * messages about a missing or failing library. */
#include "support/lh_test.h"

#include <stdlib.h>
#include <string.h>

#include "emulation.h"
#include "runtime/cuda/library.h"
#include "support/toy_cuda.h"

enum { MAX_ELEMENTS = 4096 /* elements of an array */, SOME_ERROR = 700 };

static lh_cuda_device device;
static lh_cuda_program program;
static CUstream stream;
static CUdeviceptr memory[4]; /* a, b, out, bias */

static void open_device(lh_emulation emulation, const char *precision) {
    lh_error error;
    lh_emulation_set(&emulation);
    lh_emulated_driver()->cuInit(0); /* cuda/driver.c calls cuInit only once per process */
    program = toy_cuda;
    program.precision = precision;
    lh_assert_ok(lh_cuda_device_open(&device, &program, 0, &error), &error);
    assert_int_equal(device.driver->cuStreamCreate(&stream, 0), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(device.driver->cuMemAlloc(&memory[i], MAX_ELEMENTS * sizeof(double)), 0);
}

static void close_device(void) {
    lh_cuda_make_current(&device, NULL);
    for (int i = 0; i < 4; i++) device.driver->cuMemFree(memory[i]);
    device.driver->cuStreamDestroy(stream);
    lh_cuda_device_close(&device);
    assert_int_equal(lh_emulation_held(), 0);
}

static lh_cuda_library *open_library(void) {
    lh_cuda_library *library;
    lh_error error;
    lh_assert_ok(lh_cuda_library_open(&device, &library, &error), &error);
    assert_string_equal(lh_cuda_library_name(library), "cuBLASLt 13.1.0");
    return library;
}

static bool is_double(void) { return strcmp(program.precision, "float64") == 0; }

static size_t get_element_bytes(void) { return is_double() ? sizeof(double) : sizeof(float); }

static size_t at_bias; /* offset of the bias in its memory, in elements */

static double make_value(int operand, size_t i) { return (double)((int)(i * 7 + (size_t)operand * 3) % 11 - 5); }

/* Small integers, for which all orders of sums are exact. */
static void fill(int operand, size_t count) {
    double doubles[MAX_ELEMENTS];
    float floats[MAX_ELEMENTS];
    for (size_t i = 0; i < count; i++) floats[i] = (float)(doubles[i] = make_value(operand, i));
    const void *from = is_double() ? (void *)doubles : floats;
    size_t bytes = count * get_element_bytes();
    assert_int_equal(device.driver->cuMemcpyHtoDAsync(memory[operand], from, bytes, stream), 0);
}

/* with_epilogue: with bias and rectifier. */
static double compute_product(const lh_cuda_product *p, int row, int column, bool with_epilogue) {
    double sum = p->adds ? make_value(2, (size_t)(row * p->columns + column)) : 0;
    for (int k = 0; k < p->inner; k++)
        sum += make_value(0, (size_t)(p->transposed_a ? k * p->rows + row : row * p->inner + k)) *
               make_value(1, (size_t)(p->transposed_b ? column * p->inner + k : k * p->columns + column));
    if (with_epilogue && p->bias != NULL) sum += make_value(3, (size_t)column + at_bias);
    return with_epilogue && p->rectified && sum < 0 ? 0 : sum;
}

/* p.bias: any non-null address requests a bias. should_finish: whether the library should add the bias and rectify. */
static void check_product(lh_cuda_library *library, lh_cuda_product p, bool should_finish) {
    double doubles[MAX_ELEMENTS];
    float floats[MAX_ELEMENTS];
    lh_error error;
    bool is_finished;
    size_t count = (size_t)(p.rows * p.columns);
    fill(0, (size_t)(p.rows * p.inner));
    fill(1, (size_t)(p.inner * p.columns));
    fill(2, count);
    fill(3, at_bias + (size_t)p.columns);
    p.a = (const void *)(uintptr_t)memory[0];
    p.b = (const void *)(uintptr_t)memory[1];
    p.out = (void *)(uintptr_t)memory[2];
    if (p.bias != NULL) p.bias = (const void *)(uintptr_t)(memory[3] + at_bias * get_element_bytes());
    lh_assert_ok(lh_cuda_library_multiply(library, &p, stream, &is_finished, &error), &error);
    assert_int_equal(is_finished, should_finish);
    void *to = is_double() ? (void *)doubles : floats;
    size_t bytes = count * get_element_bytes();
    assert_int_equal(device.driver->cuMemcpyDtoHAsync(to, memory[2], bytes, stream), 0);
    assert_int_equal(device.driver->cuStreamSynchronize(stream), 0);
    for (int row = 0; row < p.rows; row++)
        for (int column = 0; column < p.columns; column++) {
            size_t i = (size_t)(row * p.columns + column);
            assert_true((is_double() ? doubles[i] : (double)floats[i]) ==
                        compute_product(&p, row, column, should_finish));
        }
}

/* Every form is multiplied twice: the second time the shape is remembered. */
static void test_products_of_every_form_and_precision(void **state) {
    static const char *const precisions[] = {"float64", "float32", "tf32", "bf16"};
    for (int i = 0; i < 4; i++) {
        open_device((lh_emulation){.multiprocessors = 2}, precisions[i]);
        lh_cuda_library *library = open_library();
        for (int form = 0; form < 2 * 8; form++)
            check_product(library,
                          (lh_cuda_product){.rows = 5,
                                            .columns = 8,
                                            .inner = 3,
                                            .transposed_a = (form & 1) != 0,
                                            .transposed_b = (form & 2) != 0,
                                            .adds = (form & 4) != 0},
                          true);
        lh_cuda_library_close(library);
        close_device();
    }
}

/* Products without a bias, with a bias and with a rectifier alternate in equal shapes. A bias may have another address,
 * since a method does not store the address. */
static void check_biases(const char *precision, int plain_products) {
    open_device((lh_emulation){.multiprocessors = 2, .plain_products = plain_products}, precision);
    lh_cuda_library *library = open_library();
    for (int form = 0; form < 12; form++) {
        lh_cuda_product p = {.rows = 5, .columns = 8, .inner = 3, .bias = form % 3 > 0 ? &device : NULL};
        p.rectified = form % 3 == 2;
        at_bias = form < 6 ? 8 : 4; /* an alignment of at least 16 bytes, less than at the first use */
        check_product(library, p, p.bias == NULL || plain_products == 0);
    }
    at_bias = 0;
    lh_cuda_library_close(library);
    close_device();
}

static void test_products_add_biases_and_rectify(void **state) {
    static const char *const precisions[] = {"float64", "float32", "tf32", "bf16"};
    for (int i = 0; i < 4; i++) check_biases(precisions[i], 0);
}

static void test_library_without_epilogues_computes_the_product_alone(void **state) {
    check_biases("float32", 1);
    check_biases("float64", LH_EMULATION_EPILOGUES_FAIL);
}

/* The digest covers operations that the library fuses with a product, even if the algorithm is equal, and no others. */
static void test_digest_covers_operations_fused_with_a_product(void **state) {
    uint32_t digests[4];
    for (int i = 0; i < 4; i++) {
        open_device((lh_emulation){.multiprocessors = 2, .plain_products = i == 3}, "float32");
        lh_cuda_library *library = open_library();
        lh_error error;
        lh_cuda_product p = {.rows = 5, .columns = 8, .inner = 3, .bias = i > 0 ? &device : NULL, .rectified = i == 2};
        digests[i] = 1;
        lh_assert_ok(lh_cuda_library_digest(library, &p, &digests[i], &error), &error);
        lh_cuda_library_close(library);
        close_device();
    }
    assert_int_not_equal(digests[0], digests[1]);
    assert_int_not_equal(digests[0], digests[2]);
    assert_int_not_equal(digests[1], digests[2]);
    assert_int_equal(digests[0], digests[3]);
}

static void test_products_of_more_shapes_than_are_cached_are_right(void **state) {
    open_device((lh_emulation){.multiprocessors = 2}, "float64");
    lh_cuda_library *library = open_library();
    for (int round = 0; round < 2; round++)
        for (int rows = 1; rows <= 12; rows++)
            for (int columns = 1; columns <= 12; columns++)
                for (int inner = 1; inner <= 12; inner++)
                    check_product(library, (lh_cuda_product){.rows = rows, .columns = columns, .inner = inner}, true);
    lh_cuda_library_close(library);
    close_device();
}

static void assert_refused(const char *first, const char *second) {
    lh_cuda_library *library = (lh_cuda_library *)&device;
    lh_error error;
    assert_int_equal(lh_cuda_library_open(&device, &library, &error), LH_ERR_ENVIRONMENT);
    assert_null(library);
    if (strstr(error.text, first) == NULL || strstr(error.text, second) == NULL) fail_msg("%s", error.text);
}

static void test_open_names_missing_parts(void **state) {
    open_device((lh_emulation){.multiprocessors = 2}, "float32");
    setenv("LONGHAND_CUBLASLT", "/nowhere/libcublasLt.so", 1);
    assert_refused("looked in: /nowhere/libcublasLt.so", "in LONGHAND_CUBLASLT");
    setenv("LONGHAND_CUBLASLT", "", 1);
    setenv("LONGHAND_CUDA_ROOT", "/nowhere", 1);
    assert_refused("looked in: /nowhere/lib64, /nowhere/lib\n", "name the toolkit's folder in LONGHAND_CUDA_ROOT");
    unsetenv("LONGHAND_CUDA_ROOT");
    setenv("LONGHAND_CUBLASLT", LH_EMULATED_LIBRARY, 1);
    device.driver_version = 12080;
    assert_refused("cuBLASLt 13.1.0", "is not for this driver, which knows CUDA up to 12.8");
    close_device();
}

static void test_failing_calls_are_named(void **state) {
    static const struct {
        const char *call, *text;
    } cases[] = {
        {"cublasLtCreate", "failed in cublasLtCreate: not initialised (1)"},
        {"cuMemAlloc", "cuMemAlloc"},
        {"cublasLtMatmulAlgoGetHeuristic", "failed in cublasLtMatmulAlgoGetHeuristic: not initialised (1)"},
        {"cublasLtMatmul", "failed in cublasLtMatmul: something else (13)"},
    };
    for (int i = 0; i < 4; i++) {
        lh_emulation emulation = {.multiprocessors = 2, .failing_call = cases[i].call, .failing_result = SOME_ERROR};
        if (i == 1) emulation.failing_after = 4; /* the calls of open_device succeed */
        open_device(emulation, "float32");
        lh_cuda_library *library;
        lh_error error;
        lh_cuda_product p = {.rows = 2, .columns = 3, .inner = 4, .a = (const void *)(uintptr_t)memory[0]};
        p.b = (const void *)(uintptr_t)memory[1];
        p.out = (void *)(uintptr_t)memory[2];
        lh_status status = lh_cuda_library_open(&device, &library, &error);
        if (i > 1) {
            lh_assert_ok(status, &error);
            bool is_finished;
            status = lh_cuda_library_multiply(library, &p, stream, &is_finished, &error);
        }
        assert_int_equal(status, LH_ERR_ENVIRONMENT);
        if (strstr(error.text, cases[i].text) == NULL) fail_msg("%s", error.text);
        lh_cuda_library_close(library);
        close_device();
    }
}

int main(void) {
    setenv("LONGHAND_CUDA_DRIVER", LH_EMULATED_LIBRARY, 1);
    setenv("LONGHAND_CUBLASLT", LH_EMULATED_LIBRARY, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_every_form_and_precision),
        cmocka_unit_test(test_products_add_biases_and_rectify),
        cmocka_unit_test(test_library_without_epilogues_computes_the_product_alone),
        cmocka_unit_test(test_digest_covers_operations_fused_with_a_product),
        cmocka_unit_test(test_products_of_more_shapes_than_are_cached_are_right),
        cmocka_unit_test(test_open_names_missing_parts),
        cmocka_unit_test(test_failing_calls_are_named),
    };
    return cmocka_run_group_tests_name("cuda_library", tests, NULL, NULL);
}
