/* The division of a device's resident blocks among replicas. */
#ifndef LONGHAND_CUDA_GRID_H
#define LONGHAND_CUDA_GRID_H

#include <stdbool.h>

typedef struct lh_cuda_grid {
    int team;    /* blocks that work on one replica */
    int at_once; /* maximum number of replicas of one launch */
    int rounds;  /* number of successive launches that together run all replicas */
} lh_cuda_grid;

/* Computes the grid. is_serial: replicas run one at a time, each with min(shards, resident) blocks. If not, teams are
 * as large as shards and resident blocks allow; if not even teams of one block fit, replicas run in several launches.
 * replicas, shards and resident are at least 1. */
lh_cuda_grid lh_cuda_choose_grid(bool is_serial, int replicas, int shards, int resident);

#endif
