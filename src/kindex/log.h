/* The log: lines on standard error. */
#ifndef KINDEX_LOG_H
#define KINDEX_LOG_H

enum kx_log_level { KX_LOG_ERROR, KX_LOG_WARNING, KX_LOG_INFO, KX_LOG_DEBUG };
/* One logfmt line to standard error: level, event, then the fields given as a
 * printf format that already is logfmt ("port=%d"). Any thread. */
void kx_log(enum kx_log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void kx_log_level(enum kx_log_level most);

#endif
