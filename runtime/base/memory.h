/* Measures the memory that is available and the memory that was used. */
#ifndef LONGHAND_MEMORY_H
#define LONGHAND_MEMORY_H

/* An estimate of the bytes that this process may allocate without swapping: the minimum of the system's available
 * memory, the memory that the limit of the control group leaves, and the process's limit of address space (the whole
 * limit: used memory is not subtracted). INFINITY: none of the values is known. */
double lh_get_available_memory(void);

/* Peak resident memory of this process in bytes; 0: unknown. */
double lh_get_peak_memory(void);

#endif
