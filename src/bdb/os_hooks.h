/* How the library opens files: a log file that it creates is the one made ahead
 * (log_prealloc.h), and what cannot be opened is noted, since the library does
 * not always say which file it was.
 */
#ifndef OS_HOOKS_H
#define OS_HOOKS_H

#include "kindex.h"

/* From now on the library opens files through us, and nothing is noted. To be
 * called before an environment is made; any number of times. */
void os_hooks_install(void);

/* Was there a file that could not be opened since then, though it may be there?
 * The fault then names the last one, and says why. */
bool os_hooks_failed(struct kx_fault *fault);

#endif
