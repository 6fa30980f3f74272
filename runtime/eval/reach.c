/* See reach.h. */
#include "eval/reach.h"

#include <math.h>

#include "eval/by_sequence.h"

/* The 95% interval of a result over its sequences: Wilson's interval for exact match, a normal interval for
 * accuracy. */
static void find_interval(const lh_eval_result *result, bool uses_accuracy, double *low, double *high) {
    *low = result->exact_match_low;
    *high = result->exact_match_high;
    if (!uses_accuracy) return;
    double deviation = isnan(result->sd_over_sequences) ? 0 : result->sd_over_sequences;
    double half_width = LH_NORMAL_95 * deviation / sqrt(result->examples);
    *low = result->accuracy - half_width;
    *high = result->accuracy + half_width;
}

lh_status lh_find_reach(lh_engine *engine, const lh_eval_request *request, bool uses_accuracy, double level,
                        lh_eval_result *results, lh_reach *reach, lh_error *error) {
    int count = lh_lengths_count(&request->lengths);
    lh_status status = LH_OK;
    *reach = (lh_reach){0};
    while (status == LH_OK && reach->certain == 0 && reach->evaluated < count) {
        int index = count - 1 - reach->evaluated, n = lh_lengths_get(&request->lengths, index);
        lh_eval_request length_request = *request;
        lh_eval_result *result = &results[index];
        double low, high;
        length_request.lengths = (lh_lengths){.first = n, .last = n, .step = 1};
        length_request.noise = (lh_noise){.count = 0};
        length_request.watch = NULL;
        status = lh_evaluate(engine, &length_request, result, error);
        if (status != LH_OK) break;
        reach->evaluated++;
        find_interval(result, uses_accuracy, &low, &high);
        if (reach->possible == 0 && high >= level) reach->possible = n;
        if (low >= level) reach->certain = n;
        if (request->watch != NULL) request->watch(request->context, result, reach->evaluated, count);
    }
    return status;
}
