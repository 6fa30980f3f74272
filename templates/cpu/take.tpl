/* Returns the next `bytes` bytes at a cache-line boundary, behind the first *used bytes, which it raises; memory NULL:
 * only counts. */
static void *take(char *memory, size_t *used, size_t bytes) {
    size_t start = *used;
    *used += (bytes + 63) / 64 * 64;
    return memory ? memory + start : NULL;
}
