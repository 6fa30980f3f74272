/* Reads clocks: elapsed time and processor time. */
#ifndef LONGHAND_CLOCK_H
#define LONGHAND_CLOCK_H

/* Seconds since a fixed moment in the past; never decreases. */
double lh_read_clock(void);

/* Processor time of this process, summed over its threads, in seconds. */
double lh_read_processor_clock(void);

#endif
