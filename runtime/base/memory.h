/* How much memory there is to be had, and was taken. */
#ifndef LONGHAND_MEMORY_H
#define LONGHAND_MEMORY_H

/* Bytes that this process may still take without anything being pushed out: the least of what the system has available,
 * what is left of the control group's limit, and the process's own limit. INFINITY where none of them is known. */
double lh_memory_available(void);

/* The most bytes of memory that this process has had so far; 0: not known. */
double lh_memory_peak(void);

#endif
