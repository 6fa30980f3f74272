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

/* The accesses of a block that come before an event: all of them before an interval (lh_ptx_block), and those of one
 * thread up to another interval, `own`. */
struct reach {
    int before, thread, own;
};
typedef std::vector<reach> view; /* by block */

struct access {
    int thread, interval, line;
};

enum { NOBODY = -1, SEVERAL = -2 }; /* threads */
enum { MOST_BLOCKS = 4 };           /* of a launch whose races are found */
const access NONE = {NOBODY, 0, 0};

/* The last accesses to a byte. */
struct cell {
    int writer; /* block or NOBODY */
    access write;
    access reads[MOST_BLOCKS]; /* by block */
};

/* Four neighbouring bytes: one cell as long as they are accessed together, then a cell for each byte. */
struct word {
    cell whole = {NOBODY, NONE, {NONE, NONE, NONE, NONE}};
    std::unique_ptr<std::array<cell, 4>> bytes;
};

enum { PAGE_WORDS = 1024, RECENT = 256 };
typedef std::array<word, PAGE_WORDS> page;

} /* namespace */

static struct {
    bool races, sectors; /* see lh_ptx_observe_begin */
    int blocks;
    std::unordered_map<uint64_t, std::unique_ptr<page>> global; /* pages by number */
    std::vector<std::vector<word>> shared;                      /* by block */
    struct {
        uint64_t number;
        page *found;
    } recent[RECENT];        /* a cache of `global`, indexed by the number's remainder */
    std::vector<view> known; /* by block: accesses that come before what any of its threads does now */
    /* By block and thread, accesses that come before: its last fence; additions to words that it has read; what it does
     * now, since its fence and until the next barrier of its block. */
    std::map<std::pair<int, int>, view> fenced, seen, actual;
    std::unordered_map<uint64_t, view> words; /* by address of a word: accesses that were published through it */
} observed;

void lh_ptx_observe_begin(int blocks, bool races, bool sectors) {
    if (races && blocks > MOST_BLOCKS)
        throw lh_ptx_fault{"races are looked for between " + std::to_string(MOST_BLOCKS) + " blocks at most"};
    observed = {};
    lh_ptx_observes = races || sectors;
    observed.races = races;
    observed.sectors = sectors;
    observed.blocks = blocks;
    observed.known.assign((size_t)blocks, view((size_t)blocks, reach{0, NOBODY, 0}));
    observed.shared.resize((size_t)blocks);
    for (int part = 0; part < LH_PTX_PARTS; part++) lh_ptx_sectors_loaded[part] = lh_ptx_sectors_stored[part] = 0;
}

static void merge_view(view *to, const view &from) {
    to->resize(from.size(), reach{0, NOBODY, 0});
    for (size_t i = 0; i < from.size(); i++) {
        reach &own = (*to)[i];
        own.before = std::max(own.before, from[i].before);
        if (from[i].thread != NOBODY && (own.thread == NOBODY || from[i].own >= own.own)) {
            own.thread = from[i].thread;
            own.own = from[i].own;
        }
    }
}

/* Returns the accesses that come before what a thread does now, apart from its own. */
static view make_view(int block, int thread) {
    view all = observed.known[(size_t)block];
    auto found = observed.actual.find({block, thread});
    if (found != observed.actual.end()) merge_view(&all, found->second);
    return all;
}

/* Orders the accesses that were published through words that a thread has read before what it does from now on. */
static void acquire(const lh_ptx_block &block, int thread) {
    auto seen = observed.seen.find({block.index, thread});
    if (seen != observed.seen.end()) merge_view(&observed.actual[{block.index, thread}], seen->second);
}

/* Returns the accesses that a thread can publish: those before what it does now, and its own. */
static view make_released_view(const lh_ptx_block &block, int thread) {
    view all = make_view(block.index, thread);
    all[(size_t)block.index] = {block.interval, thread, block.interval};
    return all;
}

void lh_ptx_observe_fence(const lh_ptx_warp &w, unsigned mask) {
    for (unsigned rest = mask; observed.races && rest; rest &= rest - 1) {
        const int thread = w.index * LANES + __builtin_ctz(rest);
        acquire(*w.block, thread);
        observed.fenced[{w.block->index, thread}] = make_released_view(*w.block, thread);
    }
}

void lh_ptx_observe_barrier(const lh_ptx_block &block) {
    for (auto at = observed.actual.begin(); at != observed.actual.end();)
        if (at->first.first == block.index) {
            merge_view(&observed.known[(size_t)block.index], at->second);
            at = observed.actual.erase(at);
        } else ++at;
}

/* Observes a load that is not weak, or an addition; `stores`: an addition. */
static void synchronise(const lh_ptx_block &block, int thread, uint64_t address, bool stores, int ordering) {
    view &word = observed.words[address];
    if (!word.empty()) merge_view(&observed.seen[{block.index, thread}], word);
    if (!stores) {
        if (ordering == ORDERED) acquire(block, thread);
        return;
    }
    auto fenced = observed.fenced.find({block.index, thread});
    if (fenced != observed.fenced.end()) merge_view(&word, fenced->second);
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
    if (!recent.found || recent.number != number) {
        std::unique_ptr<page> &found = observed.global[number];
        if (!found) found = std::make_unique<page>();
        recent = {number, found.get()};
    }
    return (*recent.found)[index % PAGE_WORDS];
}

/* Whether an access by block `from` comes before what the thread does now. */
static bool happens_before(int from, const access &then, const lh_ptx_block &block, int thread, const view *known) {
    if (from == block.index) return then.interval < block.interval || then.thread == thread;
    const reach &r = (*known)[(size_t)from];
    return then.interval < r.before || (then.thread == r.thread && then.interval <= r.own);
}

/* Throws the message of a race between an access of a thread now and an earlier one by block `from`, which has written
 * or read (`verb`). */
[[noreturn]] static void report(const lh_ptx_access &a, const char *verb, int from, const access &then, int thread) {
    auto describe = [](int block, int t) {
        return (t == SEVERAL ? "several threads" : "thread " + std::to_string(t)) + " of block " +
               std::to_string(block);
    };
    lh_ptx_fail(*a.step, std::string("race: ") + (a.stores ? "written" : "read") + " by " +
                             describe(a.warp->block->index, thread) + ", " + verb + " at line " +
                             std::to_string(then.line) + " by " + describe(from, then.thread));
}

/* Checks an access to a byte, or to the four bytes of a word, against earlier ones, and stores it. */
static void check_cell(const lh_ptx_access &a, cell *c, int thread, const view *known) {
    const lh_ptx_block &block = *a.warp->block;
    const access now = {thread, block.interval, a.step->line};
    if (c->writer != NOBODY && !happens_before(c->writer, c->write, block, thread, known))
        report(a, "written", c->writer, c->write, thread);
    if (a.stores) {
        for (int from = 0; from < observed.blocks; from++) {
            if (c->reads[from].thread != NOBODY && !happens_before(from, c->reads[from], block, thread, known))
                report(a, "read", from, c->reads[from], thread);
            c->reads[from] = NONE;
        }
        c->writer = block.index;
        c->write = now;
        return;
    }
    access &read = c->reads[block.index];
    const bool several = read.thread != NOBODY && read.interval == block.interval && read.thread != thread;
    read = now;
    if (several) read.thread = SEVERAL;
}

/* Checks the access of one lane. Its bytes are a part of a word or whole words. */
static void check_bytes(const lh_ptx_access &a, uint64_t address, int thread, const view *known) {
    for (uint64_t end = address + (uint64_t)a.bytes; address < end; address += 4) {
        word &w = find_word(a, address);
        if (a.bytes < 4 && !w.bytes) {
            w.bytes = std::make_unique<std::array<cell, 4>>();
            w.bytes->fill(w.whole);
        }
        if (!w.bytes) check_cell(a, &w.whole, thread, known);
        for (uint64_t i = 0; w.bytes && i < 4; i++)
            if (a.bytes >= 4 || (i >= address % 4 && i < address % 4 + (uint64_t)a.bytes))
                check_cell(a, &(*w.bytes)[i], thread, known);
    }
}

static void check_races(const lh_ptx_access &a) {
    for (unsigned rest = a.mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest), thread = a.warp->index * LANES + lane;
        if (a.step->operands[ORDERING] != WEAK) {
            synchronise(*a.warp->block, thread, a.addresses[lane], a.stores, a.step->operands[ORDERING]);
            continue;
        }
        const view *known = &observed.known[(size_t)a.warp->block->index];
        view own;
        if (!observed.actual.empty()) {
            own = make_view(a.warp->block->index, thread);
            known = &own;
        }
        check_bytes(a, a.addresses[lane], thread, known);
    }
}

static void count_sectors(const lh_ptx_access &a) {
    uint64_t sectors[LANES];
    int count = 0;
    for (unsigned rest = a.mask; rest; rest &= rest - 1) sectors[count++] = a.addresses[__builtin_ctz(rest)] / 32;
    if (!std::is_sorted(sectors, sectors + count)) std::sort(sectors, sectors + count);
    const int part = lh_ptx_part(*a.warp->block);
    (a.stores ? lh_ptx_sectors_stored : lh_ptx_sectors_loaded)[part] += std::unique(sectors, sectors + count) - sectors;
}

void lh_ptx_observe(const lh_ptx_access &a) {
    if (observed.sectors && a.space == GLOBAL) count_sectors(a);
    if (observed.races) check_races(a);
}
