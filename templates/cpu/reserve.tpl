/* Reserves the next `bytes` bytes of memory and raises *used, a multiple of 64. memory NULL: only counts. */
static void *reserve(char *memory, size_t *used, size_t bytes) {
    size_t start = *used;
    *used += (bytes + 63) / 64 * 64;
    return memory ? memory + start : NULL;
}
