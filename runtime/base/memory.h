/* Measures the memory that is available and the memory that was used. */
#ifndef LONGHAND_MEMORY_H
#define LONGHAND_MEMORY_H

/* Bytes that this process may still allocate without swapping: the minimum of the system's available memory and of what
 * the limits of the control group and of the process leave. INFINITY: none of these values is known. */
double lh_get_available_memory(void);

/* Peak memory of this process in bytes; 0: unknown. */
double lh_get_peak_memory(void);

#endif
