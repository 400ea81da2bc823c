/* Days are counted in the proleptic Gregorian calendar, in years that begin in
 * March, so that the leap day is the last day of a year. */
#include "v8/v8_date.h"

#include <math.h>
#include <stdio.h>

#define TIME_MAX 8.64e15

enum {
    DAY_MS = 86400000,
    ERA_DAYS = 146097, /* in 400 years */
    EPOCH = 719468     /* days from March of the year 0 to January 1970 */
};

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* The date of a day counted from 1970. */
static void from_day(int64_t day, int64_t *year_out, int *month_out,
                     int *day_out)
{
    day += EPOCH;
    int64_t era = floor_divide(day, ERA_DAYS);
    int64_t of_era = day - era * ERA_DAYS;
    int64_t year =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int month = (int)((5 * of_year + 2) / 153); /* 0 is March */
    *day_out = (int)(of_year - (153 * month + 2) / 5) + 1;
    *month_out = month < 10 ? month + 3 : month - 9;
    *year_out = era * 400 + year + (*month_out <= 2);
}

static int64_t to_day(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = floor_divide(year, 400);
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day;
    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
           1 - EPOCH;
}

bool v8_date_write(double time, char *out)
{
    int64_t year;
    int month;
    int day;
    if (isnan(time)) {
        strcpy(out, "Invalid Date");
        return true;
    }
    if (fabs(time) > TIME_MAX || trunc(time) != time)
        return false;
    int64_t ms = (int64_t)time;
    int64_t days = floor_divide(ms, DAY_MS);
    int64_t rest = ms - days * DAY_MS;
    from_day(days, &year, &month, &day);
    int at = year >= 0 && year <= 9999
                 ? sprintf(out, "%04d", (int)year)
                 : sprintf(out, "%c%06d", year < 0 ? '-' : '+',
                           (int)(year < 0 ? -year : year));
    sprintf(out + at, "-%02d-%02dT%02d:%02d:%02d.%03dZ", month, day,
            (int)(rest / 3600000), (int)(rest / 60000 % 60),
            (int)(rest / 1000 % 60), (int)(rest % 1000));
    return true;
}

/* ---- Reading ------------------------------------------------------------ */

static bool take(struct kx_slice *text, char wanted)
{
    if (text->size == 0 || text->data[0] != (uint8_t)wanted)
        return false;
    *text = kx_slice(text->data + 1, text->size - 1);
    return true;
}

/* Takes exactly `count` digits; false if their number is larger than `most`. */
static bool take_digits(struct kx_slice *text, unsigned count, int most,
                        int *number_out)
{
    int number = 0;
    if (text->size < count)
        return false;
    for (unsigned i = 0; i < count; i++) {
        unsigned digit = text->data[i] - (unsigned)'0';
        if (digit > 9)
            return false;
        number = number * 10 + (int)digit;
    }
    *text = kx_slice(text->data + count, text->size - count);
    *number_out = number;
    return number <= most;
}

static bool take_year(struct kx_slice *text, int *year_out)
{
    bool negative = take(text, '-');
    if (!negative && !take(text, '+'))
        return take_digits(text, 4, 9999, year_out);
    if (!take_digits(text, 6, 999999, year_out))
        return false;
    if (negative)
        *year_out = -*year_out;
    return !negative || *year_out != 0;
}

/* Digits after the third are ignored: a Date holds milliseconds. */
static bool take_fraction(struct kx_slice *text, int *ms_out)
{
    int digit;
    int unit = 100;
    if (!take(text, '.'))
        return true;
    if (!take_digits(text, 1, 9, &digit))
        return false;
    do {
        *ms_out += digit * unit;
        unit /= 10;
    } while (take_digits(text, 1, 9, &digit));
    return true;
}

/* Takes Z, or an offset from UTC. */
static bool take_zone(struct kx_slice *text, int *minutes_out)
{
    int hours;
    int minutes;
    *minutes_out = 0;
    if (take(text, 'Z'))
        return true;
    bool negative = take(text, '-');
    if ((!negative && !take(text, '+')) || !take_digits(text, 2, 23, &hours) ||
        !take(text, ':') || !take_digits(text, 2, 59, &minutes))
        return false;
    *minutes_out = (negative ? -1 : 1) * (hours * 60 + minutes);
    return true;
}

static bool take_clock(struct kx_slice *text, int64_t *ms_out)
{
    int hours;
    int minutes;
    int seconds = 0;
    int ms = 0;
    int ahead;
    if (!take(text, 'T') || !take_digits(text, 2, 24, &hours) ||
        !take(text, ':') || !take_digits(text, 2, 59, &minutes))
        return false;
    if (take(text, ':') &&
        (!take_digits(text, 2, 59, &seconds) || !take_fraction(text, &ms)))
        return false;
    if (!take_zone(text, &ahead))
        return false;
    int64_t of_day =
        (int64_t)hours * 3600000 + minutes * 60000 + seconds * 1000 + ms;
    *ms_out = of_day - (int64_t)ahead * 60000;
    return of_day <= DAY_MS;
}

static bool is_day(int64_t year, int month, int day)
{
    int64_t same;
    int same_month;
    int same_day;
    if (month < 1 || month > 12 || day < 1)
        return false;
    from_day(to_day(year, month, day), &same, &same_month, &same_day);
    return same_month == month && same_day == day;
}

bool v8_date_read(struct kx_slice text, double *time_out)
{
    int year;
    int month;
    int day;
    int64_t ms = 0;
    if (kx_equal(text, kx_text("Invalid Date"))) {
        *time_out = NAN;
        return true;
    }
    if (!take_year(&text, &year) || !take(&text, '-') ||
        !take_digits(&text, 2, 12, &month) || !take(&text, '-') ||
        !take_digits(&text, 2, 31, &day) || !is_day(year, month, day))
        return false;
    if (text.size > 0 && !take_clock(&text, &ms))
        return false;
    *time_out = (double)(to_day(year, month, day) * DAY_MS + ms);
    return text.size == 0 && fabs(*time_out) <= TIME_MAX;
}
