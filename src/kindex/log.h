/* The program's log: lines on standard error. */
#ifndef KINDEX_LOG_H
#define KINDEX_LOG_H

enum kx_log_level { KX_LOG_ERROR, KX_LOG_WARNING, KX_LOG_INFO, KX_LOG_DEBUG };
/* Writes one logfmt line to standard error: level, event, then the fields; the
 * printf format must itself be logfmt ("port=%d"). Any thread. */
void kx_log(enum kx_log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Lines of a level after `most`, in the order of the enum, are left out. */
void kx_log_level(enum kx_log_level most);

#endif
