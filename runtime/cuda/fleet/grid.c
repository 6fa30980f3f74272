/* See grid.h. */
#include "runtime/cuda/fleet/grid.h"

static int get_smaller(int a, int b) { return a < b ? a : b; }

lh_cuda_grid lh_cuda_choose_grid(bool is_serial, int replicas, int shards, int resident) {
    if (is_serial) return (lh_cuda_grid){.team = get_smaller(shards, resident), .at_once = 1, .rounds = replicas};
    int rounds = (replicas + resident - 1) / resident, at_once = (replicas + rounds - 1) / rounds;
    return (lh_cuda_grid){.team = get_smaller(shards, resident / at_once), .at_once = at_once, .rounds = rounds};
}
