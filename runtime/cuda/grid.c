/* See grid.h. */
#include "cuda/grid.h"

lh_cuda_grid lh_cuda_grid_of(bool alone, int replicas, int shards, int resident) {
    if (alone) return (lh_cuda_grid){.team = shards < resident ? shards : resident, .at_once = 1, .rounds = replicas};
    int team = 1, rounds = (replicas + resident - 1) / resident;
    while (2 * team <= shards && 2 * team * replicas <= resident) team *= 2;
    return (lh_cuda_grid){.team = team, .at_once = (replicas + rounds - 1) / rounds, .rounds = rounds};
}
