/* JavaScript's dates as text, ISO 8601 in the form of Date's toISOString. */
#ifndef V8_DATE_H
#define V8_DATE_H

#include "kindex.h"

/* Writes a time in milliseconds since 1970 as text, NUL terminated; out holds
 * at least 32 bytes. NaN is "Invalid Date". False for times that a Date cannot
 * hold: fractions of a millisecond, and more than 8.64e15 ms from 1970. */
bool v8_date_write(double time, char *out);

/* Reads "Invalid Date" or a day, "2023-04-23", alone or followed by the time of
 * day, "T00:00Z", with seconds and their fraction if wanted and Z or an offset
 * such as +02:00. The year has four digits, or a sign and six. False for other
 * texts. */
bool v8_date_read(struct kx_slice text, double *time_out);

#endif
