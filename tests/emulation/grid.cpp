/* Runs a grid: the order of its threads, and the message if none of them can run.
 *
 * A thread leaves its fibre at a barrier, at a warp's collective and at __nanosleep, with a note of its position; the
 * host's stack handles these notes. A warp runs until none of its threads is ready, a block until no warp is, and a
 * round visits every block once. Sleeping threads are ready again in the next round.
 */
#include "grid.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "collective.h"
#include "fibre.h"
#include "guarded.h"

namespace {

struct thread {
    lh_fibre *fibre;
    const lh_note *note; /* its position while it waits, on its own stack */
};

struct warp {
    std::vector<thread> threads;
    unsigned live, ready, at_barrier, in_collective, asleep; /* a bit for each thread; live: not ended */
};

struct block {
    int index;
    std::vector<warp> warps;
    std::unique_ptr<unsigned char, void (*)(unsigned char *)> shared;
};

} /* namespace */

static struct {
    const char *name;
    const std::function<void()> *thread;
    int blocks, threads;
    size_t shared_bytes; /* bytes of one block */
    std::vector<int> block_order, warp_order, lane_order;
    block *running_block;
    warp *running_warp;
    int running_lane;
    bool has_progress; /* a block passed a barrier in this round */
    long ended_threads;
    lh_error *error;
    bool has_failed;
} grid;

lh_index threadIdx, blockIdx, blockDim, gridDim;

static void fail(const std::string &text) {
    if (!grid.has_failed) lh_fail(grid.error, LH_ERR_INPUT, "%s: %s", grid.name, text.c_str());
    grid.has_failed = true;
}

static std::string describe_place(const lh_note &note) {
    const char *slash = strrchr(note.file, '/');
    return std::string(note.name) + " (" + (slash ? slash + 1 : note.file) + ":" + std::to_string(note.line) + ")";
}

/* "__syncthreads (k.cu:7) reached by 40 of 64 threads of block 3, __nanosleep (k.cu:9) by 24" */
static std::string describe(const block &b) {
    std::map<std::string, int> counts;
    int live = 0;
    for (const warp &w : b.warps) {
        live += __builtin_popcount(w.live);
        for (size_t i = 0; i < w.threads.size(); i++)
            if (w.live >> i & 1) counts[describe_place(*w.threads[i].note)]++;
    }
    std::string text;
    for (const auto &[place, count] : counts) {
        if (text.empty())
            text = place + " reached by " + std::to_string(count) + " of " + std::to_string(live) +
                   " threads of block " + std::to_string(b.index);
        else text += ", " + place + " by " + std::to_string(count);
    }
    return text;
}

/* Lets the running thread wait, as one of the threads in `set`. */
static void wait(unsigned *set, const lh_note &note) {
    unsigned bit = 1u << grid.running_lane;
    thread &t = grid.running_warp->threads[(size_t)grid.running_lane];
    t.note = &note;
    grid.running_warp->ready &= ~bit;
    *set |= bit;
    lh_fibre_leave(t.fibre, false);
}

void __syncthreads(const char *file, int line) {
    wait(&grid.running_warp->at_barrier, {"__syncthreads", file, line, 0, NULL, NULL});
}

void __nanosleep(unsigned, const char *file, int line) {
    wait(&grid.running_warp->asleep, {"__nanosleep", file, line, 0, NULL, NULL});
}

void lh_collective_join(const lh_note &note) { wait(&grid.running_warp->in_collective, note); }

void *lh_shared_memory(void) { return grid.running_block->shared.get(); }

static void run_thread(void) {
    (*grid.thread)();
    unsigned bit = 1u << grid.running_lane;
    grid.running_warp->live &= ~bit;
    grid.running_warp->ready &= ~bit;
    grid.ended_threads++;
    lh_fibre_leave(grid.running_warp->threads[(size_t)grid.running_lane].fibre, true);
}

static void resume(block &b, warp &w, int index, int lane) {
    grid.running_block = &b;
    grid.running_warp = &w;
    grid.running_lane = lane;
    blockIdx.x = (unsigned)b.index;
    threadIdx.x = (unsigned)(index * warpSize + lane);
    lh_fibre_enter(w.threads[(size_t)lane].fibre);
}

/* Whether all live threads in the note's mask wait at the same position. */
static bool is_complete(const warp &w, const lh_note &note) {
    unsigned lanes = note.mask & w.live;
    if ((w.in_collective & lanes) != lanes) return false;
    for (unsigned remaining = lanes; remaining; remaining &= remaining - 1) {
        const lh_note &other_note = *w.threads[(size_t)__builtin_ctz(remaining)].note;
        if (other_note.line != note.line || other_note.run != note.run || other_note.mask != note.mask) return false;
    }
    return true;
}

/* Runs all complete collective operations of a warp; returns whether there was one. */
static bool run_collectives(const block &b, warp *w) {
    bool has_run = false;
    for (unsigned remaining = w->in_collective; remaining; remaining &= remaining - 1) {
        int lane = __builtin_ctz(remaining);
        const lh_note &note = *w->threads[(size_t)lane].note;
        if (!(w->in_collective >> lane & 1) || !is_complete(*w, note)) continue;
        void *arguments[warpSize] = {};
        unsigned lanes = note.mask & w->live;
        for (int i = 0; i < warpSize; i++)
            if (lanes >> i & 1) arguments[i] = w->threads[(size_t)i].note->argument;
        if (const char *problem = note.mask >> lane & 1 ? note.run(arguments, lanes) : "a thread is not in its mask") {
            fail(describe_place(note) + " in block " + std::to_string(b.index) + ": " + problem);
            return false;
        }
        w->in_collective &= ~lanes;
        w->ready |= lanes;
        has_run = true;
    }
    return has_run;
}

static void run_warp(block &b, int index) {
    warp &w = b.warps[(size_t)index];
    do {
        while (w.ready)
            for (int lane : grid.lane_order)
                if (w.ready >> lane & 1) resume(b, w, index, lane);
    } while (run_collectives(b, &w));
}

static void check_shared(const block &b) {
    if (const char *damage = lh_guarded_find_damage(b.shared.get(), grid.shared_bytes))
        fail("shared memory of block " + std::to_string(b.index) + " (" + std::to_string(grid.shared_bytes) +
             " bytes) was " + damage);
}

/* Lets a block pass a barrier if all of its threads wait at the same one; returns whether they do. */
static bool pass_barrier(block *b) {
    const lh_note *first = NULL;
    for (const warp &w : b->warps) {
        if (w.at_barrier != w.live) return false;
        for (unsigned remaining = w.live; remaining; remaining &= remaining - 1) {
            const lh_note &note = *w.threads[(size_t)__builtin_ctz(remaining)].note;
            if (!first) first = &note;
            if (note.line != first->line) return false;
        }
    }
    if (!first) return false;
    for (warp &w : b->warps) {
        w.ready = w.at_barrier;
        w.at_barrier = 0;
    }
    grid.has_progress = true;
    return true;
}

/* Runs a block until its threads wait for other blocks or have ended. */
static void run_block(block *b) {
    unsigned live = 0, asleep = 0;
    for (warp &w : b->warps) {
        w.ready |= w.asleep;
        w.asleep = 0;
    }
    do {
        for (int index : grid.warp_order) {
            run_warp(*b, index);
            if (grid.has_failed) return;
        }
        check_shared(*b);
    } while (!grid.has_failed && pass_barrier(b));
    for (const warp &w : b->warps) {
        live |= w.live;
        asleep |= w.asleep;
    }
    if (!grid.has_failed && live && !asleep) fail(describe(*b));
}

/* Runs all blocks in rounds until their threads have ended. A spinning thread waits for threads of other blocks, so
 * only many consecutive idle rounds show a deadlock. A block that spins through barriers is never idle; its deadlock
 * shows in a hundred times as many rounds in which no thread ends. */
static void run_rounds(std::vector<block> &blocks, long threads) {
    long idle_rounds = 0, endless_rounds = 0;
    std::minstd_rand random(lh_emulated.order);
    while (grid.ended_threads < threads && !grid.has_failed) {
        long old_ended = grid.ended_threads;
        grid.has_progress = false;
        for (int index : grid.block_order) {
            run_block(&blocks[(size_t)index]);
            if (grid.has_failed) return;
        }
        endless_rounds = grid.ended_threads > old_ended ? 0 : endless_rounds + 1;
        idle_rounds = grid.ended_threads > old_ended || grid.has_progress ? 0 : idle_rounds + 1;
        if (idle_rounds > lh_emulated.max_idle_rounds || endless_rounds > 100L * lh_emulated.max_idle_rounds) {
            std::string text = "deadlock after " + std::to_string(endless_rounds) + " rounds";
            for (int i = 0; i < grid.blocks && text.size() < 1000; i++) {
                std::string block_text = describe(blocks[(size_t)i]);
                if (!block_text.empty()) text += "; " + block_text;
            }
            fail(text);
        }
        if (lh_emulated.order > LH_EMULATION_DESCENDING)
            std::shuffle(grid.block_order.begin(), grid.block_order.end(), random);
    }
}

std::vector<int> lh_grid_make_order(int count, std::minstd_rand *random) {
    std::vector<int> order((size_t)count);
    std::iota(order.begin(), order.end(), 0);
    if (lh_emulated.order == LH_EMULATION_DESCENDING) std::reverse(order.begin(), order.end());
    if (lh_emulated.order > LH_EMULATION_DESCENDING) std::shuffle(order.begin(), order.end(), *random);
    return order;
}

static block make_block(int index) {
    block b = {index, {}, {lh_guarded_make(grid.shared_bytes), lh_guarded_free}};
    for (int first = 0; first < grid.threads; first += warpSize) {
        warp w = {};
        for (int i = first; i < std::min(first + warpSize, grid.threads); i++) {
            lh_fibre *fibre = lh_fibre_at((size_t)index * (size_t)grid.threads + (size_t)i);
            lh_fibre_start(fibre, run_thread);
            w.ready |= 1u << (i - first);
            w.threads.push_back({fibre, NULL});
        }
        w.live = w.ready;
        b.warps.push_back(std::move(w));
    }
    return b;
}

/* LH_ERR_INPUT: the kernel failed; see emulation.h. */
static lh_status run_grid(const char *name, const std::function<void()> &thread, int blocks, int threads,
                          size_t block_memory, lh_error *error) {
    grid = {};
    grid.name = name;
    grid.error = error;
    if (blocks < 1 || threads < 1 || threads > 1024)
        return lh_fail(error, LH_ERR_INPUT, "%s: %d blocks of %d threads", name, blocks, threads);
    if (!lh_fibre_reserve((size_t)blocks * (size_t)threads))
        return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: no memory for the stacks of %d threads", name, blocks * threads);
    grid.thread = &thread;
    grid.blocks = blocks;
    grid.threads = threads;
    grid.shared_bytes = block_memory;
    gridDim.x = (unsigned)blocks;
    blockDim.x = (unsigned)threads;

    std::minstd_rand random(lh_emulated.order);
    grid.block_order = lh_grid_make_order(blocks, &random);
    grid.warp_order = lh_grid_make_order((threads + warpSize - 1) / warpSize, &random);
    grid.lane_order = lh_grid_make_order(warpSize, &random);
    std::vector<block> running_blocks;
    for (int i = 0; i < blocks; i++) running_blocks.push_back(make_block(i));
    run_rounds(running_blocks, (long)blocks * threads);
    return grid.has_failed ? LH_ERR_INPUT : LH_OK;
}

lh_emulated_kernel::grid lh_fibre_grid(const char *name, std::function<void()> thread) {
    return [=](int blocks, int threads, size_t block_memory, lh_error *error) {
        return run_grid(name, thread, blocks, threads, block_memory, error);
    };
}
