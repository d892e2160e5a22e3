/* SPDX-License-Identifier: Apache-2.0
 *
 * The free ranges, called holes, are the nodes of a treap: a binary tree that is ordered by
 * addresses, and a heap by priorities that look random, which keeps it flat. Each node knows the
 * largest hole below it. */
#include "first_fit.h"

#include <pthread.h>
#include <stdlib.h>

enum { GRANULARITY = 1024 };

struct hole {
    struct hole *lower, *higher;
    uint64_t address, size;
    uint64_t largest; /* of this hole and those below it in the tree */
};

struct first_fit {
    pthread_mutex_t lock;
    struct hole *root;
    /* Unused nodes, linked by `lower`. Each allocation adds a node, and each free() removes one, so
     * that there are as many as allocations, plus one, and free() never needs memory. */
    struct hole *unused;
    uint64_t free_bytes;
};

static uint64_t round_up(uint64_t size, uint64_t unit)
{
    return (size + unit - 1) / unit * unit;
}

static uint64_t rounded(uint64_t size)
{
    return round_up(size != 0 ? size : 1, GRANULARITY);
}

static uint64_t priority(const struct hole *hole)
{
    uint64_t mixed = (hole->address ^ hole->address >> 31) * 0x9e3779b97f4a7c15;
    return mixed ^ mixed >> 29;
}

static uint64_t largest_in(const struct hole *tree)
{
    return tree != NULL ? tree->largest : 0;
}

static struct hole *joined(struct hole *node, struct hole *lower, struct hole *higher)
{
    uint64_t below = largest_in(lower), above = largest_in(higher);
    uint64_t largest = below > above ? below : above;
    node->lower = lower;
    node->higher = higher;
    node->largest = largest > node->size ? largest : node->size;
    return node;
}

/* Divides a tree into the holes below `address` and the others. */
static void divide(struct hole *tree, uint64_t address, struct hole **below, struct hole **others)
{
    struct hole *middle;
    if (tree == NULL) {
        *below = *others = NULL;
    } else if (tree->address < address) {
        divide(tree->higher, address, &middle, others);
        *below = joined(tree, tree->lower, middle);
    } else {
        divide(tree->lower, address, below, &middle);
        *others = joined(tree, middle, tree->higher);
    }
}

/* Makes one tree of two. All holes of the first are below those of the second. */
static struct hole *merged(struct hole *below, struct hole *above)
{
    if (below == NULL || above == NULL)
        return below != NULL ? below : above;
    if (priority(below) > priority(above))
        return joined(below, below->lower, merged(below->higher, above));
    return joined(above, merged(below, above->lower), above->higher);
}

static void put(struct first_fit *heap, uint64_t address, uint64_t size)
{
    struct hole *node = heap->unused, *below, *above;
    heap->unused = node->lower;
    node->address = address;
    node->size = size;
    divide(heap->root, address, &below, &above);
    heap->root = merged(merged(below, joined(node, NULL, NULL)), above);
    heap->free_bytes += size;
}

static void drop(struct first_fit *heap, const struct hole *hole)
{
    struct hole *below, *node, *above;
    divide(heap->root, hole->address, &below, &above);
    divide(above, hole->address + 1, &node, &above);
    heap->root = merged(below, above);
    heap->free_bytes -= node->size;
    node->lower = heap->unused;
    heap->unused = node;
}

/* Returns the lowest hole at or above `from` that has `size` bytes. */
static struct hole *first_of(struct hole *tree, uint64_t size, uint64_t from)
{
    while (tree != NULL && tree->largest >= size) {
        if (tree->address >= from) {
            struct hole *lower = first_of(tree->lower, size, from);
            if (lower != NULL)
                return lower;
            if (tree->size >= size)
                return tree;
        }
        tree = tree->higher;
    }
    return NULL;
}

/* Returns the highest hole below `address`. */
static struct hole *last_below(struct hole *tree, uint64_t address)
{
    struct hole *found = NULL;
    while (tree != NULL) {
        if (tree->address < address)
            found = tree;
        tree = tree->address < address ? tree->higher : tree->lower;
    }
    return found;
}

static uint64_t begin_in(const struct hole *hole, uint64_t first, uint64_t alignment)
{
    return round_up(hole->address > first ? hole->address : first, alignment);
}

static int fits(const struct hole *hole, uint64_t begin, uint64_t size)
{
    return begin - hole->address <= hole->size && hole->size - (begin - hole->address) >= size;
}

static struct hole *find(struct first_fit *heap, uint64_t size, uint64_t first, uint64_t alignment)
{
    struct hole *hole = last_below(heap->root, first);
    if (hole == NULL || !fits(hole, begin_in(hole, first, alignment), size))
        hole = first_of(heap->root, size, first);
    while (hole != NULL && !fits(hole, begin_in(hole, first, alignment), size))
        hole = first_of(heap->root, size, hole->address + 1);
    return hole;
}

static void cut(struct first_fit *heap, struct hole *hole, uint64_t begin, uint64_t size)
{
    uint64_t hole_begin = hole->address, hole_end = hole->address + hole->size;
    drop(heap, hole);
    if (begin > hole_begin)
        put(heap, hole_begin, begin - hole_begin);
    if (begin + size < hole_end)
        put(heap, begin + size, hole_end - begin - size);
}

static void add_unused(struct first_fit *heap, struct hole *node)
{
    node->lower = heap->unused;
    heap->unused = node;
}

static struct hole *take_unused(struct first_fit *heap)
{
    struct hole *node = heap->unused;
    heap->unused = node->lower;
    return node;
}

int64_t first_fit_allocate(struct first_fit *heap, uint64_t size, uint64_t first,
                           uint64_t alignment)
{
    if (rounded(size) < size) /* it wraps around */
        return -1;
    struct hole *node = malloc(sizeof *node);
    if (node == NULL)
        return -1;
    int64_t found = -1;
    size = rounded(size);
    pthread_mutex_lock(&heap->lock);
    struct hole *hole = find(heap, size, first, alignment);
    if (hole != NULL) {
        uint64_t begin = begin_in(hole, first, alignment);
        add_unused(heap, node);
        cut(heap, hole, begin, size);
        found = (int64_t)begin;
        node = NULL;
    }
    pthread_mutex_unlock(&heap->lock);
    free(node);
    return found;
}

void first_fit_free(struct first_fit *heap, uint64_t address, uint64_t size)
{
    uint64_t end = address + rounded(size);
    pthread_mutex_lock(&heap->lock);
    struct hole *before = last_below(heap->root, address), *behind = first_of(heap->root, 1, end);
    if (behind != NULL && behind->address == end) {
        end += behind->size;
        drop(heap, behind);
    }
    if (before != NULL && before->address + before->size == address) {
        address = before->address;
        drop(heap, before);
    }
    put(heap, address, end - address);
    struct hole *node = take_unused(heap);
    pthread_mutex_unlock(&heap->lock);
    free(node);
}

uint64_t first_fit_free_bytes(struct first_fit *heap)
{
    pthread_mutex_lock(&heap->lock);
    uint64_t bytes = heap->free_bytes;
    pthread_mutex_unlock(&heap->lock);
    return bytes;
}

uint64_t first_fit_holes(struct first_fit *heap, uint64_t (*holes)[2], uint64_t room)
{
    uint64_t count = 0;
    pthread_mutex_lock(&heap->lock);
    for (struct hole *each = first_of(heap->root, 1, 0); each != NULL;
         each = first_of(heap->root, 1, each->address + 1), count++)
        if (count < room) {
            holes[count][0] = each->address;
            holes[count][1] = each->size;
        }
    pthread_mutex_unlock(&heap->lock);
    return count;
}

struct first_fit *first_fit_new(uint64_t begin, uint64_t end)
{
    struct first_fit *heap = calloc(1, sizeof *heap);
    struct hole *node = malloc(sizeof *node);
    if (heap == NULL || node == NULL) {
        free(heap);
        free(node);
        return NULL;
    }
    pthread_mutex_init(&heap->lock, NULL);
    add_unused(heap, node);
    uint64_t size = end > begin ? (end - begin) / GRANULARITY * GRANULARITY : 0;
    if (size != 0)
        put(heap, begin, size);
    return heap;
}

void first_fit_delete(struct first_fit *heap)
{
    while (heap->root != NULL)
        drop(heap, heap->root);
    while (heap->unused != NULL)
        free(take_unused(heap));
    pthread_mutex_destroy(&heap->lock);
    free(heap);
}
