/* Writes dates as IMF-fixdate, the one format that HTTP allows to send. */
#include "net/httpdate.h"

#include <time.h>

enum { TEXT_SIZE = sizeof "Sun, 06 Nov 1994 08:49:37 GMT" };

const char *httpdate_now(void)
{
    static _Thread_local time_t written;
    static _Thread_local char text[TEXT_SIZE];
    time_t second = time(NULL);
    struct tm now;
    if (second != written)
        strftime(text, sizeof text, "%a, %d %b %Y %T GMT",
                 gmtime_r(&second, &now));
    written = second;
    return text;
}
