/* Execution of a grid: the order of lanes, warps and blocks, and the fault that is reported if none of them can run.
 *
 * In the orders "ascending" and "descending" (emulation.h) a warp runs in lockstep: lanes at one instruction are a
 * group, and the group that is furthest behind in the program runs first. In all other orders the lanes run one at a
 * time, in a permutation, each until it waits: this finds code that is right only in lockstep. */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>

#include "counts.h"
#include "emulation/grid.h"
#include "observe.h"

const lh_ptx_program *lh_ptx_running;
int lh_ptx_lane_order[LANES];

static struct {
    bool is_lockstep;                            /* warps run in lockstep */
    bool has_progress;                           /* a block passed a barrier in this round */
    std::vector<long long> issued[LH_PTX_PARTS]; /* number of executions of each instruction, by part */
    std::vector<unsigned char> parameters;
    /* Registers of each warp of a grid. They are kept for the next launch of the same program, `owner`. */
    std::vector<std::unique_ptr<unsigned char, void (*)(void *)>> register_files;
    const lh_ptx_program *owner;
} machine;

static bool are_at_same_place(const lh_ptx_group &a, const lh_ptx_group &b) {
    return a.next == b.next && a.depth == b.depth && std::equal(a.returns, a.returns + a.depth, b.returns);
}

/* Whether group a is behind group b in the program, and so runs first. */
static bool is_behind(const lh_ptx_group &a, const lh_ptx_group &b) {
    return a.depth != b.depth ? a.depth > b.depth : a.next < b.next;
}

static void join_groups(lh_ptx_warp &w) {
    for (size_t i = 0; i < w.groups.size(); i++)
        for (size_t j = i + 1; j < w.groups.size();) {
            lh_ptx_group &a = w.groups[i], &b = w.groups[j];
            if (a.is_asleep || b.is_asleep || !are_at_same_place(a, b) ||
                !(machine.is_lockstep || (a.is_waiting && b.is_waiting))) {
                j++;
                continue;
            }
            a.mask |= b.mask;
            a.is_waiting = a.is_waiting && b.is_waiting;
            w.groups.erase(w.groups.begin() + (long)j);
        }
}

/* Divides the groups of a warp into one for each lane, in the order of this launch. */
static void split_lanes(lh_ptx_warp &w) {
    std::vector<lh_ptx_group> single_lanes;
    for (int lane : lh_ptx_lane_order)
        for (const lh_ptx_group &g : w.groups)
            if (g.mask >> lane & 1) {
                single_lanes.push_back(g);
                single_lanes.back().mask = 1u << lane;
            }
    w.groups = single_lanes;
}

/* Returns the lanes of `mask` for which a step's guard holds. */
static unsigned apply_guard(const lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask) {
    if (s.guard == 0) return mask;
    const unsigned char *p = w.registers + abs(s.guard) - 1;
    unsigned holds = 0;
    for (int n = 0; n < LANES; n++) holds |= (unsigned)(p[n] != 0) << n;
    return mask & (s.guard > 0 ? holds : ~holds);
}

/* Returns the lanes of `mask` whose partners in the step's collective operation are all in `mask`. */
static unsigned find_complete_lanes(const lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask) {
    if (s.flow == WARP || s.flow == BARRIER) return mask == w.live ? mask : 0;
    if (s.flow != MEMBERS) return mask;
    const uint32_t *members = reinterpret_cast<const uint32_t *>(w.registers + s.operands[MEMBER_MASK]);
    unsigned lanes = 0;
    for (unsigned remaining = mask; remaining; remaining &= remaining - 1) {
        int n = __builtin_ctz(remaining);
        if (!(members[n] >> n & 1)) lh_ptx_fail(s, "a lane is not in its own mask");
        if ((members[n] & w.live & ~mask) == 0) lanes |= 1u << n;
    }
    return lanes;
}

/* Returns whether all lanes of the group can execute the step. Otherwise the lanes whose partners are missing wait, in
 * a group of their own unless all lanes of the group wait. */
static bool try_whole_group(lh_ptx_warp &w, lh_ptx_group &g, const lh_ptx_step &s) {
    const unsigned complete = find_complete_lanes(w, s, g.mask);
    if (complete == g.mask) return true;
    lh_ptx_group waiting = g;
    waiting.mask &= ~complete;
    waiting.is_waiting = true;
    if (complete == 0) g = waiting;
    else {
        g.mask = complete;
        w.groups.push_back(waiting); /* from here on, g is invalid */
    }
    return false;
}

/* Executes a step that changes the flow for the lanes in `mask`. Returns whether the group can go on at once, with the
 * same lanes. */
static bool change_flow(lh_ptx_warp &w, lh_ptx_group &g, const lh_ptx_step &s, unsigned mask) {
    if (s.flow == BRANCH) {
        if (mask != 0 && mask != g.mask) {
            lh_ptx_group branch = g;
            branch.mask = mask;
            branch.next = s.operands[0];
            g.mask &= ~mask;
            g.next++;
            w.groups.push_back(branch); /* from here on, g is invalid */
            return false;
        }
        g.next = mask ? s.operands[0] : g.next + 1;
        return true;
    }
    if (mask != g.mask) lh_ptx_fail(s, "a guard that holds for a part of the lanes only is not supported here");
    if (s.flow == CALL) {
        if (g.depth == MOST_CALLS) lh_ptx_fail(s, "too many nested calls");
        g.returns[g.depth++] = g.next + 1;
        g.next = s.operands[0];
    } else if (s.flow == RETURN && g.depth > 0) g.next = g.returns[--g.depth];
    else if (s.flow == RETURN) {
        w.live &= ~g.mask;
        g.mask = 0;
        return false;
    } else if (s.flow == SLEEP) {
        g.next++;
        g.is_asleep = true;
        return false;
    } else if (s.flow == BARRIER) {
        w.at_barrier = true;
        return false;
    }
    return true;
}

/* Runs group `index` until it waits, ends or is divided; in lockstep and with other groups in the warp, also until it
 * calls, returns, or reaches the instruction of another group. */
static void run_group(lh_ptx_warp &w, size_t index) {
    lh_ptx_group *g = &w.groups[index];
    int limit = INT32_MAX; /* position of the nearest group ahead */
    const int depth = g->depth;
    bool is_single = w.groups.size() == 1;
    for (const lh_ptx_group &other_group : w.groups)
        if (machine.is_lockstep && other_group.depth == depth && other_group.next > g->next)
            limit = std::min(limit, other_group.next);
    const lh_ptx_step *steps = lh_ptx_running->steps.data();
    long long *issued = machine.issued[lh_ptx_part(*w.block)].data();
    for (;;) {
        const lh_ptx_step &s = steps[g->next];
        if (s.flow != PLAIN && !try_whole_group(w, *g, s)) return;
        issued[g->next]++;
        unsigned mask = apply_guard(w, s, g->mask);
        if (s.flow > WARP) {
            if (!change_flow(w, *g, s, mask)) return;
        } else {
            if (mask) s.run(w, s, mask);
            g->next++;
            if (s.flow != PLAIN && !machine.is_lockstep) return split_lanes(w);
        }
        if (!is_single && machine.is_lockstep && (g->next >= limit || g->depth != depth)) return;
    }
}

static std::string describe(const lh_ptx_block &b) {
    std::map<int, int> lines;
    std::string text;
    for (const lh_ptx_warp &w : b.warps)
        for (const lh_ptx_group &g : w.groups)
            lines[lh_ptx_running->steps[(size_t)g.next].line] += __builtin_popcount(g.mask);
    for (const auto &[line, count] : lines)
        text += (text.empty() ? "block " + std::to_string(b.index) + ": " : ", ") + std::to_string(count) +
                " threads at line " + std::to_string(line) + " of the text";
    return text;
}

/* Returns the group that continues, in lockstep the one furthest behind, otherwise the first; -1: none can continue. */
static int find_next_group(const lh_ptx_warp &w) {
    int next = -1;
    for (size_t i = 0; i < w.groups.size(); i++) {
        const lh_ptx_group &g = w.groups[i];
        if (g.is_asleep || (g.is_waiting && !find_complete_lanes(w, lh_ptx_running->steps[(size_t)g.next], g.mask)))
            continue;
        if (next < 0 || (machine.is_lockstep && is_behind(g, w.groups[(size_t)next]))) next = (int)i;
    }
    return next;
}

static void remove_ended_groups(lh_ptx_warp &w) {
    auto has_ended = [](const lh_ptx_group &g) { return g.mask == 0; };
    w.groups.erase(std::remove_if(w.groups.begin(), w.groups.end(), has_ended), w.groups.end());
}

/* Runs a warp until all of its lanes wait for others, sleep or have ended. */
static void run_warp(lh_ptx_warp &w) {
    bool has_joined = false;
    while (!w.at_barrier) {
        if (machine.is_lockstep) join_groups(w);
        int next = find_next_group(w);
        if (next < 0 && (machine.is_lockstep || has_joined)) return;
        has_joined = next < 0;
        if (has_joined) join_groups(w);
        else {
            w.groups[(size_t)next].is_waiting = false;
            run_group(w, (size_t)next);
            remove_ended_groups(w);
        }
    }
}

/* Lets the block's warps pass a barrier if all warps that have not ended have reached it; returns whether they pass. */
static bool pass_barrier(lh_ptx_block &b) {
    bool is_reached = false;
    for (const lh_ptx_warp &w : b.warps) {
        if (w.live && !w.at_barrier) return false;
        is_reached |= w.at_barrier;
    }
    if (!is_reached) return false;
    for (lh_ptx_warp &w : b.warps) {
        if (!w.live) continue;
        w.at_barrier = false;
        w.groups[0].next++;
        if (!machine.is_lockstep) split_lanes(w);
    }
    b.interval++;
    if (lh_ptx_observes) lh_ptx_observe_barrier(b);
    return machine.has_progress = true;
}

/* Runs a block until its threads wait for other blocks or have ended; returns whether they have ended. */
static bool run_block(lh_ptx_block &b, const std::vector<int> &warp_order) {
    bool has_sleepers = false, is_live = false;
    for (lh_ptx_warp &w : b.warps)
        for (lh_ptx_group &g : w.groups) g.is_asleep = false;
    do {
        for (int index : warp_order) run_warp(b.warps[(size_t)index]);
    } while (pass_barrier(b));
    for (const lh_ptx_warp &w : b.warps) {
        is_live |= w.live != 0;
        for (const lh_ptx_group &g : w.groups) has_sleepers |= g.is_asleep;
    }
    if (is_live && !has_sleepers) throw lh_ptx_fault{"threads wait for one another forever: " + describe(b)};
    return !is_live;
}

/* Runs all blocks in rounds until they have ended. As in the emulation, only many consecutive idle rounds show a
 * deadlock. */
static void run_rounds(std::vector<lh_ptx_block> &blocks, std::minstd_rand *random) {
    std::vector<int> block_order = lh_grid_make_order((int)blocks.size(), random);
    const std::vector<int> warp_order = lh_grid_make_order((int)blocks[0].warps.size(), random);
    int idle_rounds = 0;
    for (size_t ended_blocks = 0; ended_blocks < blocks.size();) {
        size_t old_count = ended_blocks;
        machine.has_progress = false;
        ended_blocks = 0;
        for (int index : block_order) ended_blocks += run_block(blocks[(size_t)index], warp_order);
        idle_rounds = ended_blocks > old_count || machine.has_progress ? 0 : idle_rounds + 1;
        if (idle_rounds > lh_emulated.max_idle_rounds)
            throw lh_ptx_fault{"deadlock: " + describe(blocks[(size_t)block_order[0]])};
        if (!machine.is_lockstep) std::shuffle(block_order.begin(), block_order.end(), *random);
    }
}

/* ---- a launch ---- */

template <class T> static void fill_row(unsigned char *registers, int place, T value) {
    for (int n = 0; n < LANES; n++) memcpy(registers + place + n * (int)sizeof value, &value, sizeof value);
}

static void fill_constants(unsigned char *registers) {
    for (const lh_ptx_program::row &row : lh_ptx_running->constants)
        for (int n = 0; n < LANES; n++) memcpy(registers + row.place + n * row.bytes, &row.bits, (size_t)row.bytes);
}

/* Returns the registers of warp `index` of the grid, with constants. In the other registers all bits are set, or they
 * hold values of an earlier launch. */
static unsigned char *get_registers(size_t index) {
    if (machine.owner != lh_ptx_running) machine.register_files.clear();
    machine.owner = lh_ptx_running;
    while (machine.register_files.size() <= index) {
        size_t bytes = ((size_t)lh_ptx_running->register_bytes + 63) / 64 * 64;
        unsigned char *file = static_cast<unsigned char *>(aligned_alloc(64, bytes));
        if (!file) throw lh_ptx_fault{"no memory for registers"};
        fill_constants(static_cast<unsigned char *>(memset(file, 0xff, bytes)));
        machine.register_files.emplace_back(file, free);
    }
    return machine.register_files[index].get();
}

static void fill_specials(const lh_ptx_warp &w, int blocks, int threads) {
    const std::pair<const char *, int> values[] = {
        {"ctaid.x", w.block->index}, {"ntid.x", threads}, {"nctaid.x", blocks}};
    for (const auto &[name, value] : values) {
        auto found = lh_ptx_running->specials.find(name);
        if (found == lh_ptx_running->specials.end()) continue;
        for (int place : found->second) fill_row(w.registers, place, value);
    }
    auto found = lh_ptx_running->specials.find("tid.x");
    if (found == lh_ptx_running->specials.end()) return;
    for (int place : found->second)
        for (int n = 0; n < LANES; n++) reinterpret_cast<int *>(w.registers + place)[n] = w.index * LANES + n;
}

static lh_ptx_warp make_warp(lh_ptx_block *b, int index, int blocks, int threads, int first, unsigned char *locals) {
    lh_ptx_warp w = {};
    int lanes = std::min((int)LANES, threads - index * LANES);
    w.block = b;
    w.index = index;
    w.live = lanes == LANES ? 0xffffffffu : (1u << lanes) - 1;
    w.registers = get_registers((size_t)b->index * (size_t)((threads + LANES - 1) / LANES) + (size_t)index);
    w.locals = locals;
    w.parameters = machine.parameters.data();
    lh_ptx_group g = {};
    g.mask = w.live;
    g.next = first;
    w.groups.push_back(g);
    fill_specials(w, blocks, threads);
    if (!machine.is_lockstep) split_lanes(w);
    return w;
}

static void run_grid(const lh_ptx_kernel &kernel, int blocks, int threads, size_t block_memory) {
    std::minstd_rand random(lh_emulated.order);
    std::vector<int> lanes = lh_grid_make_order(LANES, &random);
    std::copy(lanes.begin(), lanes.end(), lh_ptx_lane_order);
    machine.is_lockstep = lh_emulated.order <= LH_EMULATION_DESCENDING;
    const int warps = (threads + LANES - 1) / LANES;
    const size_t local_bytes = (size_t)lh_ptx_running->local_bytes * LANES;
    std::vector<unsigned char> locals((size_t)(blocks * warps) * local_bytes + 1, 0xff);
    std::vector<lh_ptx_block> running_blocks((size_t)blocks);
    for (int i = 0; i < blocks; i++) {
        lh_ptx_block &b = running_blocks[(size_t)i];
        b.index = i;
        b.interval = b.phase = 0;
        b.shared.assign(block_memory, 0xff);
        for (int w = 0; w < warps; w++)
            b.warps.push_back(
                make_warp(&b, w, blocks, threads, kernel.first, locals.data() + (size_t)(i * warps + w) * local_bytes));
    }
    run_rounds(running_blocks, &random);
}

/* ---- functions that the emulation calls ---- */

static lh_ptx_program program;
static std::vector<std::unique_ptr<lh_emulated_kernel>> kernels;

static lh_status launch(const std::string &name, const std::vector<unsigned char> &parameters, int blocks, int threads,
                        size_t block_memory, lh_error *error) {
    try {
        machine.parameters = parameters;
        for (auto &issued : machine.issued) issued.assign(program.steps.size(), 0);
        lh_ptx_running = &program;
        lh_ptx_observe_begin(blocks, getenv("LONGHAND_PTX_RACES") != NULL, lh_ptx_counts_sectors);
        run_grid(program.kernels.at(name), blocks, threads, block_memory);
        return LH_OK;
    } catch (const lh_ptx_fault &fault) {
        return lh_fail(error, LH_ERR_INPUT, "%s: %s", name.c_str(), fault.text.c_str());
    }
}

/* Parameters begin at multiples of 16 bytes, as in assemble.lua. */
static lh_emulated_kernel::grid bind_arguments(const std::string &name, void **arguments) {
    std::vector<unsigned char> parameters;
    size_t place = 0;
    for (int bytes : program.kernels.at(name).parameters) {
        parameters.resize(place + ((size_t)bytes + 15) / 16 * 16);
        memcpy(parameters.data() + place, *arguments++, (size_t)bytes);
        place = parameters.size();
    }
    return [=](int blocks, int threads, size_t block_memory, lh_error *error) {
        return (int)launch(name, parameters, blocks, threads, block_memory, error);
    };
}

static const lh_emulated_kernel *find_kernel(const char *name) {
    for (const auto &kernel : kernels)
        if (strcmp(kernel->name, name) == 0) return kernel.get();
    return NULL;
}

static const bool is_loaded = [] {
    const char *path = getenv("LONGHAND_PTX");
    lh_emulated_kernel::find_instead = find_kernel;
    if (!path) return false;
    try {
        lh_ptx_read(path, &program);
    } catch (const lh_ptx_fault &fault) {
        fprintf(stderr, "LONGHAND_PTX: %s\n", fault.text.c_str());
        exit(LH_ERR_INPUT);
    }
    for (const auto &entry : program.kernels) {
        const std::string &name = entry.first;
        kernels.push_back(std::make_unique<lh_emulated_kernel>(
            name.c_str(), [name](void **arguments) { return bind_arguments(name, arguments); }));
    }
    return true;
}();

int lh_ptx_team_barriers = 1;
bool lh_ptx_counts_sectors;

int lh_ptx_read_counts(int program_part, lh_ptx_count *counts, int max_count) {
    std::map<std::string, long long> sums;
    for (size_t i = 0; i < machine.issued[program_part].size(); i++)
        if (machine.issued[program_part][i])
            sums[program.kinds[(size_t)program.steps[i].kind]] += machine.issued[program_part][i];
    sums["sectors_loaded"] = lh_ptx_sectors_loaded[program_part];
    sums["sectors_stored"] = lh_ptx_sectors_stored[program_part];
    int count = 0;
    for (const auto &[kind, sum] : sums)
        if (count < max_count) {
            snprintf(counts[count].kind, sizeof counts->kind, "%s", kind.c_str());
            counts[count++].count = sum;
        }
    return is_loaded ? count : 0;
}
