/* A team of threads: one parallel region per call. The only user of OpenMP, so that another threading library can
 * stand behind it. */
#ifndef LONGHAND_TEAM_H
#define LONGHAND_TEAM_H

/* index: 0..count-1, count: threads the region really got. */
typedef void lh_team_work(void *argument, int index, int count);

/* Runs work on `threads` threads, or fewer where the system gives fewer; returns when all are done. Within a team, a
 * further team has one thread unless OpenMP was told to nest. */
void lh_team_run(int threads, lh_team_work *work, void *argument);

/* All threads of the running team meet; callable only from work. What each wrote before, all see after. Spins briefly,
 * then sleeps; with more threads than processors it sleeps at once. */
void lh_team_barrier(void);

/* Processors this process may run on: its affinity, and the time limits of its control groups, rounded up. */
int lh_team_processors(void);

#endif
