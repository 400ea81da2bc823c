/* Writes dates as IMF-fixdate, the one format that HTTP allows to send. */
#include "net/httpdate.h"

#include <time.h>

void httpdate_write(char *out)
{
    time_t second = time(NULL);
    struct tm now;
    strftime(out, HTTPDATE_MAX, "%a, %d %b %Y %T GMT", gmtime_r(&second, &now));
}
