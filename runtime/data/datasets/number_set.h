/* A hash set of tuples of numbers, with open addressing. The set never grows, so its user must keep some slots free. */
#ifndef LONGHAND_NUMBER_SET_H
#define LONGHAND_NUMBER_SET_H

#include <stdint.h>
#include <string.h>

typedef struct lh_number_set {
    uint64_t *slot;    /* [capacity][tuple_size], set by the user; first number 0: the slot is free */
    uint64_t capacity; /* a power of 2 */
    int tuple_size;    /* numbers of each tuple; the first number of a tuple is never 0 */
} lh_number_set;

/* The smallest power of 2 that is at least `min_capacity`, as the capacity of a set. */
static inline uint64_t lh_number_set_capacity(uint64_t min_capacity) {
    uint64_t capacity = 1;
    while (capacity < min_capacity) capacity *= 2;
    return capacity;
}

/* The slot of a tuple, which is free if the set lacks the tuple. */
static inline uint64_t *lh_number_set_find(const lh_number_set *set, const uint64_t *number) {
    const size_t bytes = (size_t)set->tuple_size * sizeof *number;
    uint64_t mixed = 0;
    for (int i = 0; i < set->tuple_size; i++) mixed = (mixed << 32 ^ mixed >> 32 ^ number[i]) * 0x9e3779b97f4a7c15u;
    for (uint64_t index = mixed >> 20;; index++) {
        uint64_t *slot = set->slot + (index & (set->capacity - 1)) * (uint64_t)set->tuple_size;
        if (slot[0] == 0 || memcmp(slot, number, bytes) == 0) return slot;
    }
}

#endif
