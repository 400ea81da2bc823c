/* A pairing heap: each alarm is no later than its children, which form an
 * unordered list. When an alarm is removed its children are joined in pairs. */
#include "exchange/timer_heap.h"

#include <stddef.h>

/* Joins two heaps: the later one becomes the first child of the other. */
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

/* Joins the members of a list in pairs; the result is in reverse order. */
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

/* Joins all children to one heap, first in pairs and then one after the other:
 * these two passes make the amortized cost logarithmic. */
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
