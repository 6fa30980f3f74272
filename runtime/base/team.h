/* Runs teams of threads: one parallel region per call. Only team.c uses OpenMP, so another threading library can
 * replace it. */
#ifndef LONGHAND_TEAM_H
#define LONGHAND_TEAM_H

/* index: 0..count - 1; count: actual number of threads in the region. */
typedef void lh_team_work(void *argument, int index, int count);

/* Runs work on `threads` threads, or fewer if the system provides fewer; returns when all are done. With OpenMP, a team
 * started inside a team has one thread unless OpenMP is set to allow nesting. */
void lh_team_run(int threads, lh_team_work *work, void *argument);

/* A barrier of all threads of the running team; called only from work functions. Writes before the barrier are visible
 * to all threads after it. A waiting thread spins briefly, then sleeps; with more threads than processors it sleeps at
 * once. */
void lh_team_barrier(void);

/* The number of processors that this process may use: processors in its affinity mask, or fewer if a control group
 * limits processor time (a limit of 1.5 processors counts as 2). */
int lh_team_count_processors(void);

#endif
