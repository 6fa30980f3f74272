/* Finds races, byte by byte, and counts sectors of memory.
 *
 * Two accesses to a byte, one of them a store, race unless one comes before the other. Within a block, one access comes
 * before the other if a barrier of the block lies between them, or if one thread made both. Between blocks: a thread
 * that makes a fence and then an atomic addition to a word publishes its own accesses and those of its block before the
 * block's last barrier. A thread that reads this word, by a volatile load or an addition, and then makes a fence comes
 * after the published accesses; the other threads of its block come after them from the next barrier on. An addition
 * that releases counts as a fence and an addition, a load that acquires as a load and a fence. (PTX ISA, "Memory
 * Consistency Model": fences on both sides of a word that both access.) Accesses to these words do not race. The
 * accesses of a thread before its fence are not distinguished from those after it, up to the next barrier.
 */
#include "observe.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>

bool lh_ptx_observes;
long long lh_ptx_sectors_loaded[LH_PTX_PARTS], lh_ptx_sectors_stored[LH_PTX_PARTS];

namespace {

/* The accesses of a block that come before an event: those of all threads before `interval` (lh_ptx_block), and those
 * of one thread up to `thread_interval`. */
struct bounds {
    int interval, thread, thread_interval;
};
typedef std::vector<bounds> view; /* by block */

struct access {
    int thread, interval, line;
};

enum { NOBODY = -1, MANY_THREADS = -2 }; /* threads */
enum { MOST_BLOCKS = 4 };                /* of a launch whose races are found */
const access NONE = {NOBODY, 0, 0};

/* The last accesses to a byte. */
struct cell {
    int writer; /* block or NOBODY */
    access write;
    access reads[MOST_BLOCKS]; /* by block */
};

/* Four neighbouring bytes: one cell as long as they are accessed together, then a cell for each byte. */
struct word {
    cell all_bytes = {NOBODY, NONE, {NONE, NONE, NONE, NONE}};
    std::unique_ptr<std::array<cell, 4>> bytes;
};

enum { PAGE_WORDS = 1024, RECENT = 256 };
typedef std::array<word, PAGE_WORDS> page;

} /* namespace */

static struct {
    bool finds_races, counts_sectors; /* see lh_ptx_observe_begin */
    int blocks;
    std::unordered_map<uint64_t, std::unique_ptr<page>> global; /* pages by number */
    std::vector<std::vector<word>> shared;                      /* by block */
    struct {
        uint64_t number;
        page *contents;
    } recent[RECENT];              /* a cache of `global`, indexed by the number's remainder */
    std::vector<view> block_views; /* by block: accesses that come before the next ones of all its threads */
    /* By block and thread: accesses before its last fence; accesses that were published through words that it has read;
     * accesses that come before its next ones, since its fence and until the next barrier of its block. */
    std::map<std::pair<int, int>, view> at_fence, read_words, current;
    std::unordered_map<uint64_t, view> words; /* by address of a word: accesses that were published through it */
} observed;

void lh_ptx_observe_begin(int blocks, bool finds_races, bool counts_sectors) {
    if (finds_races && blocks > MOST_BLOCKS)
        throw lh_ptx_fault{"races are found between at most " + std::to_string(MOST_BLOCKS) + " blocks"};
    observed = {};
    lh_ptx_observes = finds_races || counts_sectors;
    observed.finds_races = finds_races;
    observed.counts_sectors = counts_sectors;
    observed.blocks = blocks;
    observed.block_views.assign((size_t)blocks, view((size_t)blocks, bounds{0, NOBODY, 0}));
    observed.shared.resize((size_t)blocks);
    for (int program_part = 0; program_part < LH_PTX_PARTS; program_part++)
        lh_ptx_sectors_loaded[program_part] = lh_ptx_sectors_stored[program_part] = 0;
}

static void merge_view(view *to, const view &from) {
    to->resize(from.size(), bounds{0, NOBODY, 0});
    for (size_t i = 0; i < from.size(); i++) {
        bounds &b = (*to)[i];
        b.interval = std::max(b.interval, from[i].interval);
        if (from[i].thread != NOBODY && (b.thread == NOBODY || from[i].thread_interval >= b.thread_interval)) {
            b.thread = from[i].thread;
            b.thread_interval = from[i].thread_interval;
        }
    }
}

/* Returns the accesses of other threads that come before the next ones of a thread. */
static view make_view(int block, int thread) {
    view merged = observed.block_views[(size_t)block];
    auto found = observed.current.find({block, thread});
    if (found != observed.current.end()) merge_view(&merged, found->second);
    return merged;
}

/* Orders accesses before all later ones of a thread: those that were published through words that it has read. */
static void acquire(const lh_ptx_block &block, int thread) {
    auto entry = observed.read_words.find({block.index, thread});
    if (entry != observed.read_words.end()) merge_view(&observed.current[{block.index, thread}], entry->second);
}

/* Returns the accesses that a thread can publish: those before its next ones, and its own. */
static view make_released_view(const lh_ptx_block &block, int thread) {
    view released = make_view(block.index, thread);
    released[(size_t)block.index] = {block.interval, thread, block.interval};
    return released;
}

void lh_ptx_observe_fence(const lh_ptx_warp &w, unsigned mask) {
    for (unsigned remaining = mask; observed.finds_races && remaining; remaining &= remaining - 1) {
        const int thread = w.index * LANES + __builtin_ctz(remaining);
        acquire(*w.block, thread);
        observed.at_fence[{w.block->index, thread}] = make_released_view(*w.block, thread);
    }
}

void lh_ptx_observe_barrier(const lh_ptx_block &block) {
    for (auto entry = observed.current.begin(); entry != observed.current.end();)
        if (entry->first.first == block.index) {
            merge_view(&observed.block_views[(size_t)block.index], entry->second);
            entry = observed.current.erase(entry);
        } else ++entry;
}

/* Observes a load that is not weak, or an addition. */
static void synchronise(const lh_ptx_block &block, int thread, uint64_t address, bool is_addition, int ordering) {
    view &word = observed.words[address];
    if (!word.empty()) merge_view(&observed.read_words[{block.index, thread}], word);
    if (!is_addition) {
        if (ordering == ORDERED) acquire(block, thread);
        return;
    }
    auto entry = observed.at_fence.find({block.index, thread});
    if (entry != observed.at_fence.end()) merge_view(&word, entry->second);
    if (ordering == ORDERED) merge_view(&word, make_released_view(block, thread));
}

static word &find_word(const lh_ptx_access &a, uint64_t address) {
    const uint64_t index = address / 4, number = index / PAGE_WORDS;
    if (a.space == SHARED) {
        std::vector<word> &words = observed.shared[(size_t)a.warp->block->index];
        if (words.empty()) words.resize(a.warp->block->shared.size() / 4 + 1);
        return words[index];
    }
    auto &recent = observed.recent[number % RECENT];
    if (!recent.contents || recent.number != number) {
        std::unique_ptr<page> &found = observed.global[number];
        if (!found) found = std::make_unique<page>();
        recent = {number, found.get()};
    }
    return (*recent.contents)[index % PAGE_WORDS];
}

/* Whether an earlier access by block `from` comes before the next ones of the thread. */
static bool happens_before(int from, const access &earlier, const lh_ptx_block &block, int thread, const view *prior) {
    if (from == block.index) return earlier.interval < block.interval || earlier.thread == thread;
    const bounds &b = (*prior)[(size_t)from];
    return earlier.interval < b.interval || (earlier.thread == b.thread && earlier.interval <= b.thread_interval);
}

/* Throws the message of a race between an access of a thread and an earlier one by block `from`; verb: "written" or
 * "read", by the earlier one. */
[[noreturn]] static void report(const lh_ptx_access &a, const char *verb, int from, const access &earlier, int thread) {
    auto describe = [](int block, int t) {
        return (t == MANY_THREADS ? "several threads" : "thread " + std::to_string(t)) + " of block " +
               std::to_string(block);
    };
    lh_ptx_fail(*a.step, std::string("race: ") + (a.is_store ? "written" : "read") + " by " +
                             describe(a.warp->block->index, thread) + ", " + verb + " at line " +
                             std::to_string(earlier.line) + " by " + describe(from, earlier.thread));
}

/* Checks an access to a byte, or to the four bytes of a word, against earlier ones, and stores it. */
static void check_cell(const lh_ptx_access &a, cell *c, int thread, const view *prior) {
    const lh_ptx_block &block = *a.warp->block;
    const access current = {thread, block.interval, a.step->line};
    if (c->writer != NOBODY && !happens_before(c->writer, c->write, block, thread, prior))
        report(a, "written", c->writer, c->write, thread);
    if (a.is_store) {
        for (int from = 0; from < observed.blocks; from++) {
            if (c->reads[from].thread != NOBODY && !happens_before(from, c->reads[from], block, thread, prior))
                report(a, "read", from, c->reads[from], thread);
            c->reads[from] = NONE;
        }
        c->writer = block.index;
        c->write = current;
        return;
    }
    access &read = c->reads[block.index];
    const bool has_many_readers = read.thread != NOBODY && read.interval == block.interval && read.thread != thread;
    read = current;
    if (has_many_readers) read.thread = MANY_THREADS;
}

/* Checks the access of one lane, to a part of a word or to whole words. */
static void check_bytes(const lh_ptx_access &a, uint64_t address, int thread, const view *prior) {
    for (uint64_t end = address + (uint64_t)a.bytes; address < end; address += 4) {
        word &w = find_word(a, address);
        if (a.bytes < 4 && !w.bytes) {
            w.bytes = std::make_unique<std::array<cell, 4>>();
            w.bytes->fill(w.all_bytes);
        }
        if (!w.bytes) check_cell(a, &w.all_bytes, thread, prior);
        for (uint64_t i = 0; w.bytes && i < 4; i++)
            if (a.bytes >= 4 || (i >= address % 4 && i < address % 4 + (uint64_t)a.bytes))
                check_cell(a, &(*w.bytes)[i], thread, prior);
    }
}

static void check_races(const lh_ptx_access &a) {
    for (unsigned remaining = a.mask; remaining; remaining &= remaining - 1) {
        const int lane = __builtin_ctz(remaining), thread = a.warp->index * LANES + lane;
        if (a.step->operands[ORDERING] != WEAK) {
            synchronise(*a.warp->block, thread, a.addresses[lane], a.is_store, a.step->operands[ORDERING]);
            continue;
        }
        const view *prior = &observed.block_views[(size_t)a.warp->block->index];
        view thread_view;
        if (!observed.current.empty()) {
            thread_view = make_view(a.warp->block->index, thread);
            prior = &thread_view;
        }
        check_bytes(a, a.addresses[lane], thread, prior);
    }
}

static void count_sectors(const lh_ptx_access &a) {
    uint64_t sectors[LANES];
    int count = 0;
    for (unsigned remaining = a.mask; remaining; remaining &= remaining - 1)
        sectors[count++] = a.addresses[__builtin_ctz(remaining)] / 32;
    if (!std::is_sorted(sectors, sectors + count)) std::sort(sectors, sectors + count);
    const int program_part = lh_ptx_part(*a.warp->block);
    (a.is_store ? lh_ptx_sectors_stored : lh_ptx_sectors_loaded)[program_part] +=
        std::unique(sectors, sectors + count) - sectors;
}

void lh_ptx_observe(const lh_ptx_access &a) {
    if (observed.counts_sectors && a.space == GLOBAL) count_sectors(a);
    if (observed.finds_races) check_races(a);
}
