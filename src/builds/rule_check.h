/* The job that checks the entries that were there before a rule. */
#ifndef RULE_CHECK_H
#define RULE_CHECK_H

#include "builds/sweep.h"

extern const struct sweep_policy rule_check_policy;

#endif
