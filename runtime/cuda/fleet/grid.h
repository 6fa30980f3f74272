/* How replicas share the blocks that a device holds at once. */
#ifndef LONGHAND_CUDA_GRID_H
#define LONGHAND_CUDA_GRID_H

#include <stdbool.h>

typedef struct lh_cuda_grid {
    int team;    /* blocks that work on one replica */
    int at_once; /* replicas of one launch, at most */
    int rounds;  /* launches until each replica has had its turn */
} lh_cuda_grid;

/* alone: one model has the whole device, as many blocks as are resident and have a shard. Otherwise teams
 * are as large as shards and residence allow; where not even teams of one fit, replicas take turns. replicas, shards and
 * resident are at least 1. */
lh_cuda_grid lh_cuda_grid_of(bool alone, int replicas, int shards, int resident);

#endif
