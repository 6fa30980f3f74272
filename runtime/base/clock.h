/* Seconds that pass, and those that are worked. */
#ifndef LONGHAND_CLOCK_H
#define LONGHAND_CLOCK_H

/* Seconds since some moment before; never runs back. */
double lh_clock(void);

/* Seconds that processors have worked for this process, all its threads together. */
double lh_processor_clock(void);

#endif
