/* The configuration, the registry of kernels, and launches without a driver. */
#include "emulation.h"

#include <limits.h>
#include <stdlib.h>

#include <algorithm>
#include <sstream>

#include "device.h"
#include "guarded.h"

/* Returns the configuration with defaults in place of fields that are 0. */
static lh_emulation fill_defaults(lh_emulation e) {
    e.devices = e.devices ? std::max(e.devices, 0) : 1;
    if (!e.driver_version) e.driver_version = 13000;
    if (!e.architecture) e.architecture = 90;
    if (!e.multiprocessors) e.multiprocessors = 4;
    if (!e.blocks_per_multiprocessor) e.blocks_per_multiprocessor = 1;
    if (!e.block_memory) e.block_memory = (size_t)(e.architecture < 80 ? 64 : 99) << 10;
    if (!e.memory) e.memory = (size_t)1 << 30;
    if (!e.max_idle_rounds) e.max_idle_rounds = 10000;
    return e;
}

lh_emulation lh_emulated = fill_defaults(lh_emulation());

static bool is_configured; /* set by lh_emulation_set */

bool lh_emulation_read(std::string *problem) {
    const char *text = getenv("LONGHAND_EMULATION");
    if (is_configured || !text) return true;
    lh_emulation e = {};
    int order = 0;
    const std::map<std::string, int *> fields = {
        {"order", &order},
        {"architecture", &e.architecture},
        {"multiprocessors", &e.multiprocessors},
        {"blocks_per_multiprocessor", &e.blocks_per_multiprocessor},
        {"driver_version", &e.driver_version},
        {"plain_products", &e.plain_products},
    };
    std::istringstream stream(text);
    for (std::string field; std::getline(stream, field, ',');) {
        size_t equal = std::min(field.find('='), field.size());
        auto found = fields.find(field.substr(0, equal));
        char *end = NULL;
        long value = strtol(field.c_str() + std::min(equal + 1, field.size()), &end, 10);
        if (found == fields.end() || equal + 1 >= field.size() || *end || value < 0 || value > INT_MAX) {
            *problem = "LONGHAND_EMULATION: \"" + field + "\", expected fields such as order=3,multiprocessors=2";
            return false;
        }
        *found->second = (int)value;
    }
    e.order = (unsigned)order;
    lh_emulated = fill_defaults(e);
    return true;
}

static void free_everything(void) {
    for (const auto *kind : {&lh_device.device_memory, &lh_device.host_memory})
        for (const auto &[memory, bytes] : *kind) lh_guarded_free(memory);
    for (CUstream stream : lh_device.streams) delete stream;
    for (CUmodule module : lh_device.modules) delete module;
    lh_device = {};
    lh_device_context = NULL;
}

void lh_emulation_set(const lh_emulation *emulation) {
    std::lock_guard<std::recursive_mutex> hold(lh_device_mutex);
    free_everything();
    is_configured = true;
    lh_emulated = fill_defaults(emulation ? *emulation : lh_emulation());
    lh_device.calls_before_failure = lh_emulated.failing_after;
}

int lh_emulation_held(void) {
    std::lock_guard<std::recursive_mutex> hold(lh_device_mutex);
    return (int)(lh_device.device_memory.size() + lh_device.host_memory.size() + lh_device.streams.size() +
                 lh_device.modules.size()) +
           lh_device.libraries + lh_device.context.holders;
}

int lh_emulation_launches(void) {
    std::lock_guard<std::recursive_mutex> hold(lh_device_mutex);
    return lh_device.launches;
}

lh_status lh_emulation_launch(const char *kernel, int blocks, int threads, size_t block_memory, void **arguments,
                              lh_error *error) {
    std::lock_guard<std::recursive_mutex> hold(lh_device_mutex);
    const lh_emulated_kernel *found = lh_emulated_kernel::find(kernel);
    if (!found) return lh_fail(error, LH_ERR_INPUT, "%s: no such kernel", kernel);
    return (lh_status)found->bind(arguments)(blocks, threads, block_memory, error);
}

static const lh_emulated_kernel *kernels;

lh_emulated_kernel::lh_emulated_kernel(const char *kernel_name, binder kernel_bind)
    : name(kernel_name), bind(std::move(kernel_bind)), next(kernels) {
    kernels = this;
}

const lh_emulated_kernel *(*lh_emulated_kernel::find_instead)(const char *name);

const lh_emulated_kernel *lh_emulated_kernel::find(const char *name) {
    if (getenv("LONGHAND_PTX")) return find_instead ? find_instead(name) : NULL;
    const lh_emulated_kernel *kernel = kernels;
    while (kernel && strcmp(kernel->name, name) != 0) kernel = kernel->next;
    return kernel;
}
