/* Memory that is available, and memory that was used. */
#ifndef LONGHAND_MEMORY_H
#define LONGHAND_MEMORY_H

/* Bytes that this process may still allocate without swapping: the minimum of the system's available memory, the rest
 * of the control group's limit, and the process's own limit. INFINITY: none of them is known. */
double lh_memory_available(void);

/* Peak memory of this process in bytes; 0: unknown. */
double lh_memory_peak(void);

#endif
