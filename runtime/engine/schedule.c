/* See schedule.h. */
#include "engine/schedule.h"

#include "longhand/math.h"

/* The rate of step t of a falling schedule, as a share of the highest rate. */
static double compute_rate_share(const lh_train_defaults *train, int64_t t) {
    static const double PI = 3.14159265358979323846;
    const lh_schedule *schedule = &train->schedule;
    double x = (double)(t - 1 - schedule->warmup) / (double)(train->steps - schedule->warmup), sine, cosine;
    if (x >= 1) return schedule->final;
    if (schedule->kind == LH_SCHEDULE_LINEAR) return 1 - (1 - schedule->final) * x;
    lh_sincos(PI * x, &sine, &cosine);
    return schedule->final + (1 - schedule->final) * (1 + cosine) / 2;
}

double lh_compute_learning_rate(const lh_train_defaults *train, double learning_rate, int64_t t) {
    const lh_schedule *schedule = &train->schedule;
    if (t <= schedule->warmup) return learning_rate * ((double)t / (double)schedule->warmup);
    if (schedule->kind == LH_SCHEDULE_CONSTANT) return learning_rate;
    return learning_rate * compute_rate_share(train, t);
}

lh_status lh_schedule_check(const lh_train_defaults *train, int64_t steps, lh_error *error) {
    const lh_schedule *schedule = &train->schedule;
    long long last = (long long)train->steps, warmup = (long long)schedule->warmup;
    if (schedule->kind == LH_SCHEDULE_CONSTANT) return LH_OK;
    if (warmup >= last)
        return lh_fail(error, LH_ERR_INPUT,
                       "train.schedule.warmup: %lld of the %lld training steps\n"
                       "  expected: at most %lld, so that the rate can fall after the warm-up",
                       warmup, last, last - 1);
    if (steps <= train->steps) return LH_OK;
    return lh_fail(error, LH_ERR_INPUT,
                   "--steps %lld: the learning rate falls until step %lld, the last step of the spec's schedule\n"
                   "  expected: at most %lld; with fewer steps, training stops early\n"
                   "  hint: a build with --set train.steps=%lld makes another run, with a slower fall",
                   (long long)steps, last, last, (long long)steps);
}
