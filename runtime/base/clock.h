/* Seconds that pass. */
#ifndef LONGHAND_CLOCK_H
#define LONGHAND_CLOCK_H

/* Seconds since some moment before; never runs back. */
double lh_clock(void);

#endif
