/* Runs the exchanges in an event loop's run queue. All functions belong to the
 * loop's thread. */
#ifndef API_EXCHANGE_LOOP_H
#define API_EXCHANGE_LOOP_H

#include "exchange/run_queue.h"

/* Begins a turn of the loop (run_queue_begin), and sets workers_read in front
 * of a data directory. One read of a slow disk would delay all requests of the
 * loop, so workers, if there are any that read, then do what needs a view.
 * Where the system has the files in memory it would only take longer to hand
 * each request over. */
void exchange_loop_begin(struct run_queue *queue, uint64_t now_ns);
/* A part of exchange_loop_begin: notes the reads made so far by the loop and
 * all workers, and returns whether the disk counts as slow. */
bool exchange_loop_note_reads(struct slow_disk *disk,
                              struct kx_disk_reads reads, uint64_t now_ns);

/* Continues every exchange whose answer is in the run queue, which may call its
 * `ready`. If this turn of the loop has lasted too long, the exchanges join the
 * queue of turns instead. False if there was no answer. */
bool exchange_loop_answers(struct run_queue *queue);
/* Called once in each turn of the loop: gives each exchange in the queue of
 * turns a slice until the time for slices is used up; later calls serve the
 * remaining exchanges. False if no exchange waited. */
bool exchange_loop_turns(struct run_queue *queue);
/* Continues exchanges whose wait has expired, until this turn of the loop has
 * lasted too long, or all that wait for a notification if the loop is
 * `stopping`. False if there was none. */
bool exchange_loop_alarms(struct run_queue *queue, bool stopping);
/* Ends the exchanges that wait for their turn with a problem (503 stopping), or
 * breaks off their streams, because the loop stops. */
void exchange_loop_abandon(struct run_queue *queue);

#endif
