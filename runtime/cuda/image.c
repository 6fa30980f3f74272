/* The choice of an image; see image.h. */
#include "runtime/cuda/image.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool lh_cuda_parse_kind(const char *name, lh_cuda_kind *kind) {
    *kind = (lh_cuda_kind){.is_machine_code = strncmp(name, "sm_", 3) == 0};
    if (!kind->is_machine_code && strncmp(name, "compute_", 8) != 0) return false;
    const char *digits = strchr(name, '_') + 1;
    size_t count = strspn(digits, "0123456789");
    if (count < 2 || count > 4) return false;
    kind->architecture = atoi(digits);
    kind->suffix = digits[count];
    return kind->suffix == 0 || (strchr("af", kind->suffix) && digits[count + 1] == 0);
}

bool lh_cuda_runs_image(const lh_cuda_kind *kind, int architecture) {
    if (kind->suffix == 'a') return kind->architecture == architecture;
    bool has_same_major = kind->architecture / 10 == architecture / 10;
    return kind->architecture <= architecture && (has_same_major || !(kind->is_machine_code || kind->suffix));
}

/* The rank among the images that a device runs; the image with the highest rank is the best. Machine code comes
 * before the intermediate form, then the architecture and the suffix decide. */
static int rank_image(const lh_cuda_kind *kind) {
    int narrowness = kind->suffix == 'a' ? 2 : kind->suffix == 'f' ? 1 : 0;
    return (kind->is_machine_code ? 100000 : 0) + kind->architecture * 10 + narrowness;
}

const char *lh_cuda_write_version(int version, char text[LH_CUDA_VERSION_TEXT]) {
    snprintf(text, LH_CUDA_VERSION_TEXT, "%d.%d", version / 1000, version % 1000 / 10);
    return text;
}

/* Source: NVIDIA, "CUDA Toolkit Release Notes", table "CUDA Toolkit and Corresponding Driver Versions" for Linux. It
 * lists the driver of the first release of each toolkit. */
int lh_cuda_get_driver_release(int version) {
    static const struct {
        int version, release;
    } releases[] = {
        {11000, 450}, {11010, 455}, {11020, 460}, {11030, 465}, {11040, 470}, {11050, 495}, {11060, 510},
        {11070, 515}, {11080, 520}, {12000, 525}, {12010, 530}, {12020, 535}, {12030, 545}, {12040, 550},
        {12050, 555}, {12060, 560}, {12080, 570}, {12090, 575}, {13000, 580}, {13010, 590}, {13020, 595},
    };
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++)
        if (releases[i].version == version) return releases[i].release;
    return 0;
}

const char *lh_cuda_describe_driver(int version, char text[LH_CUDA_DRIVER_TEXT]) {
    char cuda_version[LH_CUDA_VERSION_TEXT];
    int release = lh_cuda_get_driver_release(version);
    lh_cuda_write_version(version, cuda_version);
    if (release > 0) snprintf(text, LH_CUDA_DRIVER_TEXT, "release %d or later (CUDA %s)", release, cuda_version);
    else snprintf(text, LH_CUDA_DRIVER_TEXT, "a release for CUDA %s", cuda_version);
    return text;
}

/* Converts "12.4" to 12040; NULL to 0. */
static int parse_toolkit_version(const char *toolkit) {
    int major = 0, minor = 0;
    if (toolkit) sscanf(toolkit, "%d.%d", &major, &minor);
    return major * 1000 + minor * 10;
}

/* The lowest CUDA version of a driver for code of this toolkit version: for machine code the first version with the
 * same major number ("minor version compatibility"), for the intermediate form the same version. */
static int get_needed_version(bool is_machine_code, int toolkit) {
    return is_machine_code ? toolkit / 1000 * 1000 : toolkit;
}

int lh_cuda_find_oldest_driver(const lh_cuda_program *program, bool is_machine_code) {
    lh_cuda_kind kind;
    for (const lh_cuda_image *next = program->images; next && next->architecture; next++)
        if (lh_cuda_parse_kind(next->architecture, &kind) && kind.is_machine_code == is_machine_code)
            return get_needed_version(is_machine_code, parse_toolkit_version(program->toolkit));
    return 0;
}

/* Writes the names of all images, such as "sm_80, compute_90"; the text is cut if it is too long. */
static void list_images(const lh_cuda_image *images, char *text, size_t size) {
    size_t used = 0;
    text[0] = 0;
    for (; images && images->architecture && used < size; images++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", images->architecture);
}

static lh_status fail_no_image(const lh_cuda_program *program, int architecture, lh_error *error) {
    char images[512];
    list_images(program->images, images, sizeof images);
    return lh_fail(error, LH_ERR_ENVIRONMENT,
                   "no device code for this device, which is sm_%d (compute capability %d.%d); this program has: %s\n"
                   "build it with sm_%d in --arch, or with --jit",
                   architecture, architecture / 10, architecture % 10, images[0] ? images : "none", architecture);
}

/* Reports that the driver is too old. best: name of the image that the device would run with a newer driver. */
static lh_status fail_driver(const lh_cuda_program *program, const char *best, bool is_machine_code, int driver_version,
                             lh_error *error) {
    int needed = get_needed_version(is_machine_code, parse_toolkit_version(program->toolkit));
    char driver_text[LH_CUDA_VERSION_TEXT], needed_text[LH_CUDA_VERSION_TEXT], release[LH_CUDA_DRIVER_TEXT];
    lh_cuda_write_version(driver_version, driver_text);
    lh_cuda_write_version(needed, needed_text);
    return lh_fail(
        error, LH_ERR_ENVIRONMENT,
        "the CUDA driver of this machine is too old: it knows CUDA up to %s, but the device code (%s) was "
        "compiled by toolkit %s and needs a driver for CUDA %s\n"
        "update NVIDIA's driver to %s, or build with a toolkit that this driver knows (--cuda-root), or with --jit",
        driver_text, best, program->toolkit, needed_text, lh_cuda_describe_driver(needed, release));
}

lh_status lh_cuda_choose_image(const lh_cuda_program *program, int architecture, int driver_version,
                               const lh_cuda_image **image, lh_error *error) {
    int toolkit = parse_toolkit_version(program->toolkit), best_rank = 0, fitting_rank = 0;
    const char *fitting = NULL; /* name of the best image for the device, regardless of the driver */
    lh_cuda_kind kind;
    *image = NULL;
    for (const lh_cuda_image *next = program->images; next && next->architecture; next++) {
        if (!lh_cuda_parse_kind(next->architecture, &kind) || !lh_cuda_runs_image(&kind, architecture)) continue;
        if (rank_image(&kind) > fitting_rank) fitting_rank = rank_image(&kind), fitting = next->architecture;
        if (rank_image(&kind) > best_rank && get_needed_version(kind.is_machine_code, toolkit) <= driver_version)
            best_rank = rank_image(&kind), *image = next;
    }
    if (*image || program->source) return LH_OK;
    if (!fitting) return fail_no_image(program, architecture, error);
    lh_cuda_parse_kind(fitting, &kind);
    return fail_driver(program, fitting, kind.is_machine_code, driver_version, error);
}
