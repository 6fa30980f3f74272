/* Implementations of all instructions that do not change the flow: those of instructions.lua, loads, stores, additions
 * in memory, fences, and the moves of functions' parameters. machine.cpp executes the others. */
#include <math.h>
#include <stddef.h>

#include <algorithm>

#include "emulation/rounding.h"
#include "machine.h"
#include "observe.h"

/* ---- functions that statements of instructions.lua call ---- */

/* Returns the larger number; if one of them is a NaN, the other one. 0 is larger than -0. */
template <class T> static T larger(T a, T b) {
    if (a != a) return b;
    if (b != b) return a;
    return a == b ? (__builtin_signbit(a) ? b : a) : a > b ? a : b;
}

/* Returns b, in which `count` bits from a position on are replaced by the low bits of a. */
static uint32_t insert_bits(uint32_t a, uint32_t b, uint32_t position, uint32_t count) {
    position &= 255;
    count &= 255;
    uint64_t bit_mask = count > 31 ? 0xffffffffu : ((uint64_t)1 << count) - 1;
    uint32_t mask = position > 31 ? 0 : (uint32_t)(bit_mask << position);
    return (b & ~mask) | (position > 31 ? 0 : a << position & mask);
}

/* Returns four of the eight bytes of b:a, each selected by four bits; if the highest of the four is set, all bits of
 * the byte are replaced by its sign. */
static uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t choice = selector >> 4 * i & 15, byte = (uint32_t)(bytes >> 8 * (choice & 7)) & 255;
        if (choice & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * i;
    }
    return result;
}

/* Rounds towards 0; a value out of range becomes the nearest one in range, a NaN becomes nan_result. */
template <class To, class From> static To to_integer(From x, To nan_result) {
    const From limit = (From)((To)1 << (8 * sizeof(To) - 2)) * 2;
    if (x != x) return nan_result;
    if (x >= limit) return (To)(((To)1 << (8 * sizeof(To) - 2)) - 1 + ((To)1 << (8 * sizeof(To) - 2)));
    if (x < -limit) return (To)(-((To)1 << (8 * sizeof(To) - 2)) * 2);
    return (To)x;
}

static float make_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- operations of a whole warp ---- */

/* Shuffles: d is the value of lane (own ^ b), or of lane b of the own segment; if that lane is beyond the end of the
 * segment, d is the own value and the predicate p is 0. c: the end and, shifted by 8, the bits of a lane's number that
 * select its segment. */
static int butterfly_source(int lane, int b, int) { return lane ^ b; }
static int index_source(int lane, int b, int segment) { return (lane & segment) | (b & ~segment); }

template <int (*SOURCE)(int lane, int b, int segment)>
static void shuffle(lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask) {
    uint32_t *d = row<uint32_t>(w, s, 0), values[LANES];
    uint8_t *p = row<uint8_t>(w, s, 1);
    const uint32_t *b = row<uint32_t>(w, s, 3), *c = row<uint32_t>(w, s, 4),
                   *members = row<uint32_t>(w, s, MEMBER_MASK);
    memcpy(values, row<uint32_t>(w, s, 2), sizeof values);
    for (int n = 0; n < LANES; n++) {
        if (!(mask >> n & 1)) continue;
        int segment = (int)(c[n] >> 8 & 31), last = (n & segment) | ((int)(c[n] & 31) & ~segment);
        int source = SOURCE(n, (int)(b[n] & 31), segment);
        p[n] = source <= last;
        if (!p[n]) source = n;
        if (!((mask & members[n]) >> source & 1)) lh_ptx_fail(s, "a lane reads one that takes no part");
        d[n] = values[source];
    }
}
static const auto shuffle_butterfly = shuffle<butterfly_source>, shuffle_index = shuffle<index_source>;

/* d = a b + c from fragments, as in "Matrix Fragments for mma.m16n8k8" and "m16n8k16": lane 4 g + t has rows g and g +
 * 8, columns 2 t and 2 t + 1, of the result. Products are exact, and sums are in double until the result is rounded to
 * float. */
template <int K> static void multiply(lh_ptx_warp &w, const lh_ptx_step &s, const float (*a)[K], const float (*b)[8]) {
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 4; i++) {
            int r = lane / 4 + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
            double sum = (double)row<float>(w, s, 10 + i)[lane];
            for (int k = 0; k < K; k++) sum += (double)a[r][k] * (double)b[k][column];
            row<float>(w, s, i)[lane] = (float)sum;
        }
}

static void require_whole_warp(const lh_ptx_step &s, unsigned mask) {
    if (mask != 0xffffffffu) lh_ptx_fail(s, "a product of fragments needs all lanes of a warp");
}

/* Each register holds one element, of which the hardware reads the upper 19 bits. */
static void multiply_tf32(lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask) {
    float a[16][8], b[8][8];
    require_whole_warp(s, mask);
    for (int lane = 0; lane < LANES; lane++) {
        int g = lane / 4, t = lane % 4;
        auto element = [&](int operand) { return make_float(row<uint32_t>(w, s, operand)[lane] & 0xffffe000u); };
        a[g][t] = element(4);
        a[g + 8][t] = element(5);
        a[g][t + 4] = element(6);
        a[g + 8][t + 4] = element(7);
        b[t][g] = element(8);
        b[t + 4][g] = element(9);
    }
    multiply<8>(w, s, a, b);
}

/* Each register holds two elements: the lower half has the lower k. */
static void multiply_bf16(lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask) {
    float a[16][16], b[16][8];
    require_whole_warp(s, mask);
    for (int lane = 0; lane < LANES; lane++)
        for (int half = 0; half < 2; half++) {
            int g = lane / 4, k = lane % 4 * 2 + half;
            auto element = [&](int operand) {
                uint32_t pair = row<uint32_t>(w, s, operand)[lane];
                return make_float(half ? pair & 0xffff0000u : pair << 16);
            };
            a[g][k] = element(4);
            a[g + 8][k] = element(5);
            a[g][k + 8] = element(6);
            a[g + 8][k + 8] = element(7);
            b[k][g] = element(8);
            b[k + 8][g] = element(9);
        }
    multiply<16>(w, s, a, b);
}

/* ---- memory ---- */

/* Stores the host's address of each lane's access in `to`, and reports the access to the observer. `bytes`: the size of
 * all elements of a lane. */
static inline void find_addresses(lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask, int bytes, bool is_store,
                                  unsigned char **to) {
    const int *o = s.operands;
    const unsigned char *base = w.registers + o[BASE];
    lh_ptx_access access;
    for (unsigned remaining = mask; remaining; remaining &= remaining - 1) {
        int n = __builtin_ctz(remaining);
        uint64_t address = o[BASE_BYTES] == 8 ? reinterpret_cast<const uint64_t *>(base)[n]
                                              : reinterpret_cast<const uint32_t *>(base)[n];
        address += (uint64_t)(int64_t)o[OFFSET];
        if (o[BASE_BYTES] == 4) address = (uint32_t)address;
        if (address % (uint64_t)bytes != 0 && o[SPACE] != PARAMETER)
            lh_ptx_fail(s, "an address that is no multiple of " + std::to_string(bytes) + " bytes");
        access.addresses[n] = address;
        if (o[SPACE] == SHARED) {
            if (address + (uint64_t)bytes > w.block->shared.size())
                lh_ptx_fail(s, "beyond the " + std::to_string(w.block->shared.size()) + " bytes of shared memory");
            to[n] = w.block->shared.data() + address;
        } else if (o[SPACE] == LOCAL) {
            to[n] = w.locals + (size_t)n * lh_ptx_running->local_bytes + address;
            if (address + (uint64_t)bytes > (uint64_t)lh_ptx_running->local_bytes)
                lh_ptx_fail(s, "beyond the local memory of a lane");
        } else if (o[SPACE] == PARAMETER) {
            to[n] = const_cast<unsigned char *>(w.parameters) + address;
        } else {
            if (address < 1 << 20) lh_ptx_fail(s, "an address that is not in global memory");
            to[n] = reinterpret_cast<unsigned char *>(address);
        }
    }
    if (!lh_ptx_observes || o[SPACE] > SHARED) return;
    access.step = &s;
    access.warp = &w;
    access.mask = mask;
    access.space = o[SPACE];
    access.bytes = bytes;
    access.is_store = is_store;
    lh_ptx_observe(access);
}

template <class Element, class Register> static void load(lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask) {
    unsigned char *from[LANES];
    const int count = s.operands[COUNT];
    find_addresses(w, s, mask, count * (int)sizeof(Element), false, from);
    for (int i = 0; i < count; i++) {
        Register *to = row<Register>(w, s, FIRST_REGISTER + i);
        for_lanes(mask, [=](int n) {
            Element element;
            memcpy(&element, from[n] + (size_t)i * sizeof element, sizeof element);
            to[n] = element;
        });
    }
}

template <class Element, class Register> static void store(lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask) {
    unsigned char *to[LANES];
    const int count = s.operands[COUNT];
    find_addresses(w, s, mask, count * (int)sizeof(Element), true, to);
    for (int turn = 0; turn < LANES; turn++) {
        int n = lh_ptx_lane_order[turn];
        for (int i = 0; mask >> n & 1 && i < count; i++) {
            Element element = (Element)row<Register>(w, s, FIRST_REGISTER + i)[n];
            memcpy(to[n] + (size_t)i * sizeof element, &element, sizeof element);
        }
    }
}

/* Adds to a word in memory for each lane, in the order of lanes. old_values: receives the former values, or NULL. */
static void add_in_memory(lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask, const uint32_t *summands,
                          uint32_t *old_values) {
    unsigned char *addresses[LANES];
    find_addresses(w, s, mask, sizeof *summands, true, addresses);
    for (int turn = 0; turn < LANES; turn++) {
        int n = lh_ptx_lane_order[turn];
        if (!(mask >> n & 1)) continue;
        uint32_t value;
        memcpy(&value, addresses[n], sizeof value);
        const uint32_t sum = value + summands[n];
        memcpy(addresses[n], &sum, sizeof sum);
        if (old_values) old_values[n] = value;
    }
    w.block->phase++;
}

static void atomic_add(lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask) {
    add_in_memory(w, s, mask, row<uint32_t>(w, s, FIRST_REGISTER + 1), row<uint32_t>(w, s, FIRST_REGISTER));
}

static void reduce_add(lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask) {
    add_in_memory(w, s, mask, row<uint32_t>(w, s, FIRST_REGISTER), NULL);
}

/* Only one thread runs at a time, so memory is consistent; races are found from the order that fences define. */
static void fence(lh_ptx_warp &w, const lh_ptx_step &, unsigned mask) {
    if (lh_ptx_observes) lh_ptx_observe_fence(w, mask);
}

/* Moves an argument to the row of a function's parameter, which has 8 bytes for each lane. */
template <class Register> static void pass_argument(lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask) {
    uint64_t *to = row<uint64_t>(w, s, 0);
    const Register *from = row<Register>(w, s, 1);
    for_lanes(mask, [=](int n) { to[n] = from[n]; });
}

/* Loads a parameter in a function. */
template <class Element, class Register>
static void read_parameter(lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask) {
    const uint64_t *from = row<uint64_t>(w, s, 0);
    Register *to = row<Register>(w, s, 1);
    for_lanes(mask, [=](int n) { to[n] = (Element)from[n]; });
}

#include "operations.inc"
