/* See diagnose.h. */
#include "engine/diagnose.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/real.h"

typedef struct tensor_facts {
    int64_t nonfinite; /* number of elements that are NaN or infinite */
    double magnitude;  /* largest magnitude of the finite elements */
} tensor_facts;

static tensor_facts scan_tensor(const lh_tensor *tensor, int real_bytes, const void *vector) {
    tensor_facts facts = {0, 0};
    int64_t columns = lh_count_tensor_columns(tensor), count = lh_count_tensor_elements(tensor);
    for (int64_t i = 0; i < count; i++) {
        double x = lh_real_read(vector, real_bytes, tensor->offset + i / columns * tensor->stride + i % columns);
        if (!isfinite(x)) facts.nonfinite++;
        else facts.magnitude = fmax(facts.magnitude, fabs(x));
    }
    return facts;
}

lh_vector_facts lh_diagnose_vector(const lh_spec *spec, int real_bytes, const void *vector) {
    lh_vector_facts vector_facts = {.first_nonfinite = -1, .last_nonfinite = -1, .largest_tensor = -1};
    for (int t = 0; t < spec->tensor_count; t++) {
        if (!spec->tensors[t].learned) continue;
        tensor_facts facts = scan_tensor(&spec->tensors[t], real_bytes, vector);
        vector_facts.tensor_count++;
        if (facts.nonfinite > 0) {
            if (vector_facts.nonfinite_count++ == 0)
                vector_facts.first_nonfinite = t, vector_facts.first_elements = facts.nonfinite;
            vector_facts.last_nonfinite = t, vector_facts.last_elements = facts.nonfinite;
        }
        if (facts.magnitude > vector_facts.magnitude)
            vector_facts.largest_tensor = t, vector_facts.magnitude = facts.magnitude;
    }
    return vector_facts;
}

/* Whether a tensor has an element with an index from `first` to end - 1 in the parameter vector. */
static bool has_element_in(const lh_tensor *tensor, int64_t first, int64_t end) {
    for (int64_t row = 0; row < lh_count_tensor_rows(tensor); row++) {
        int64_t start = tensor->offset + row * tensor->stride;
        if (start < end && start + lh_count_tensor_columns(tensor) > first) return true;
    }
    return false;
}

void lh_diagnose_chunk(const lh_spec *spec, int64_t chunk, char *text, size_t size) {
    enum { MAX_NAMES = 3 };
    int names = 0;
    size_t used = 0;
    text[0] = 0;
    for (int t = 0; t < spec->tensor_count; t++) {
        const lh_tensor *tensor = &spec->tensors[t];
        if (!tensor->learned || !has_element_in(tensor, chunk * LH_CHUNK, (chunk + 1) * LH_CHUNK)) continue;
        if (names++ < MAX_NAMES && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", names > 1 ? ", " : "", tensor->name);
    }
    if (names > MAX_NAMES && used < size) snprintf(text + used, size - used, " and %d more", names - MAX_NAMES);
}

static void append(lh_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(lh_error *error, const char *format, ...) {
    size_t used = strlen(error->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text + used, sizeof error->text - used, format, arguments);
    va_end(arguments);
}

static void append_vector(lh_error *error, const lh_spec *spec, int real_bytes, const char *vector_name,
                          const void *vector) {
    const lh_tensor *tensors = spec->tensors;
    const lh_vector_facts found = lh_diagnose_vector(spec, real_bytes, vector), *facts = &found;
    bool is_too_large = facts->magnitude > sqrt(real_bytes == 8 ? DBL_MAX : (double)FLT_MAX);
    if (facts->nonfinite_count == 0 && facts->largest_tensor < 0) append(error, "\n  %s: all zero", vector_name);
    else if (facts->nonfinite_count == 0)
        append(error, "\n  %s: every element is finite, the largest is %.3g in %s%s", vector_name, facts->magnitude,
               tensors[facts->largest_tensor].name,
               is_too_large ? "; the square of this element is too large for this precision" : "");
    else
        append(error, "\n  %s: NaN or infinite in %d of %d tensors; the first is %s (%lld of %lld elements)",
               vector_name, facts->nonfinite_count, facts->tensor_count, tensors[facts->first_nonfinite].name,
               (long long)facts->first_elements, (long long)lh_count_tensor_elements(&tensors[facts->first_nonfinite]));
    if (facts->nonfinite_count > 1)
        append(error, ", the last is %s (%lld of %lld elements)", tensors[facts->last_nonfinite].name,
               (long long)facts->last_elements, (long long)lh_count_tensor_elements(&tensors[facts->last_nonfinite]));
    if (facts->nonfinite_count > 0 && facts->largest_tensor >= 0)
        append(error, "; the largest finite element is %.3g in %s", facts->magnitude,
               tensors[facts->largest_tensor].name);
}

void lh_diagnose_step(lh_error *error, const lh_spec *spec, int real_bytes, const void *parameters,
                      const void *gradient, int length) {
    if (error == NULL) return;
    append(error, "\n  task length %d", length);
    append_vector(error, spec, real_bytes, "parameters", parameters);
    if (gradient != NULL) append_vector(error, spec, real_bytes, "gradient", gradient);
}
