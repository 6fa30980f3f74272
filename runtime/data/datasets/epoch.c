/* See epoch.h. The random numbers of an order have the site (LH_DOMAIN_DATA, 0, LH_PLACE_ORDER), and as counter words:
 *
 *   step     index of the epoch
 *   example  order of batches: LH_SHARED; order within a shape: lh_get_order_word
 */
#include "data/datasets/epoch.h"

#include <stdlib.h>
#include <string.h>

int64_t lh_count_epoch_batches(const lh_corpus *corpus, int batch) {
    int64_t batches = 0;
    for (int n = 1; n <= corpus->shapes; n++)
        batches += (lh_dataset_count_examples(&corpus->train, n) + batch - 1) / batch;
    return batches;
}

lh_status lh_epoch_open(lh_epoch *epoch, const lh_corpus *corpus, int batch, lh_error *error) {
    *epoch =
        (lh_epoch){.corpus = corpus, .batch = batch, .index = -1, .batches = lh_count_epoch_batches(corpus, batch)};
    epoch->indices_in_shape = malloc((size_t)corpus->train.count * sizeof *epoch->indices_in_shape);
    epoch->batch_order = malloc((size_t)epoch->batches * sizeof *epoch->batch_order);
    if (epoch->indices_in_shape != NULL && epoch->batch_order != NULL) return LH_OK;
    lh_epoch_close(epoch);
    return lh_fail(error, LH_ERR_ENVIRONMENT, "no memory for the order of %lld examples",
                   (long long)corpus->train.count);
}

void lh_epoch_close(lh_epoch *epoch) {
    free(epoch->indices_in_shape);
    free(epoch->batch_order);
    memset(epoch, 0, sizeof *epoch);
}

static lh_rng make_order_rng(lh_key key, int64_t epoch, uint32_t order) {
    return lh_rng_at(key, (uint32_t)epoch, order, lh_site(LH_DOMAIN_DATA, 0, LH_PLACE_ORDER));
}

void lh_shuffle(lh_rng rng, uint32_t *list, int64_t count) {
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t j = lh_rng_below(&rng, (uint32_t)i + 1);
        uint32_t swapped = list[j];
        list[j] = list[i];
        list[i] = swapped;
    }
}

void lh_draw_order(lh_rng rng, uint32_t *list, int64_t count) {
    for (int64_t i = 0; i < count; i++) list[i] = (uint32_t)i;
    lh_shuffle(rng, list, count);
}

/* Shuffles batches as lh_shuffle does. */
static void shuffle_batches(lh_rng rng, lh_epoch_batch *list, int64_t count) {
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t j = lh_rng_below(&rng, (uint32_t)i + 1);
        lh_epoch_batch swapped = list[j];
        list[j] = list[i];
        list[i] = swapped;
    }
}

uint32_t lh_get_order_word(const lh_dataset *set, int n) {
    uint32_t shapes_with_examples = 0;
    if (set->expand == NULL) return (uint32_t)n;
    /* Some shapes occur only in the test set, such as shapes of wide frames (data/arithmetic.h). The order in training
     * must not depend on these shapes. */
    for (int i = 1; i <= n; i++) shapes_with_examples += lh_dataset_count_examples(set, i) > 0;
    return shapes_with_examples;
}

static void compute_order(lh_epoch *epoch, lh_key key, int64_t index) {
    const lh_dataset *train = &epoch->corpus->train;
    lh_epoch_batch *next = epoch->batch_order;
    for (int n = 1; n <= epoch->corpus->shapes; n++) {
        int64_t first = train->first[n - 1], end = train->first[n];
        if (first == end) continue;
        lh_draw_order(make_order_rng(key, index, lh_get_order_word(train, n)), epoch->indices_in_shape + first,
                      end - first);
        for (; first < end; first += epoch->batch)
            *next++ = (lh_epoch_batch){n, end - first < epoch->batch ? (int)(end - first) : epoch->batch, first};
    }
    shuffle_batches(make_order_rng(key, index, LH_SHARED), epoch->batch_order, epoch->batches);
    epoch->index = index;
}

const lh_epoch_batch *lh_epoch_find_batch(lh_epoch *epoch, lh_key key, uint32_t step) {
    int64_t index = step / epoch->batches;
    if (index != epoch->index) compute_order(epoch, key, index);
    return &epoch->batch_order[step % epoch->batches];
}
