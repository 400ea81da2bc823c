/* Jobs: claims, and what becomes of a claimed job. A job is an entry that a
 * queue covers; its lease, attempts and last error are part of its record
 * (struct kx_job). Writer thread only. */
#ifndef PLAN_JOB_H
#define PLAN_JOB_H

#include "plan/plan_state.h"

/* Leases the job under key, which is due, for the queue's lease from now on.
 * KX_OK, KX_ABSENT (the entry is gone), KX_NO_MEMORY, KX_FAILED. */
enum kx_status plan_claim(struct plan *plan, const struct index *queue,
                          struct kx_slice key);

/* Carries out KX_ACK, KX_EXTEND, KX_RELEASE or KX_FAIL. KX_OK;
 * KX_RECEIPT_STALE, KX_QUEUE_ABSENT, with a sentence; KX_NO_MEMORY, KX_FAILED.
 */
enum kx_status plan_change_job(struct plan *plan,
                               const struct kx_mutation *mutation);

/* Refuses a claim from an index that is not a queue. Returns KX_QUEUE_ABSENT.
 */
enum kx_status plan_refuse_queue(struct plan *plan, struct kx_slice name);

#endif
