/* A pairing heap: each alarm comes before its children, in a list without an
 * order; when one goes, its children are paired off among themselves. */
#include "exchange/timer_heap.h"

#include <stddef.h>

/* The earlier of two heaps, with the other one as its first child. */
static struct alarm *join(struct alarm *a, struct alarm *b)
{
    if (a == NULL || b == NULL)
        return a == NULL ? b : a;
    if (b->at_ns < a->at_ns) {
        struct alarm *later = a;
        a = b;
        b = later;
    }
    b->next = a->child;
    if (b->next != NULL)
        b->next->link = &b->next;
    b->link = &a->child;
    a->child = b;
    return a;
}

/* Joins pairs of a list; they come out in reverse order. */
static struct alarm *join_pairs(struct alarm *list)
{
    struct alarm *pairs = NULL;
    while (list != NULL) {
        struct alarm *a = list;
        struct alarm *b = a->next;
        list = b != NULL ? b->next : NULL;
        struct alarm *pair = join(a, b);
        pair->next = pairs;
        pairs = pair;
    }
    return pairs;
}

/* One heap of all children. Two at a time and then one after the other: that is
 * what keeps it cheap. */
static struct alarm *join_children(struct alarm *alarm)
{
    struct alarm *heap = NULL;
    struct alarm *list = join_pairs(alarm->child);
    while (list != NULL) {
        struct alarm *next = list->next;
        heap = join(heap, list);
        list = next;
    }
    return heap;
}

static void put_first(struct timer_heap *alarms, struct alarm *heap)
{
    alarms->first = heap;
    if (heap == NULL)
        return;
    heap->next = NULL;
    heap->link = &alarms->first;
}

void timer_heap_set(struct timer_heap *alarms, struct alarm *alarm,
                    uint64_t at_ns)
{
    *alarm = (struct alarm){.at_ns = at_ns};
    put_first(alarms, join(alarms->first, alarm));
}

void timer_heap_clear(struct timer_heap *alarms, struct alarm *alarm)
{
    if (alarm->link == NULL)
        return;
    *alarm->link = alarm->next;
    if (alarm->next != NULL)
        alarm->next->link = alarm->link;
    alarm->link = NULL;
    put_first(alarms, join(alarms->first, join_children(alarm)));
}
