/* See info_cuda.h. Queries the driver for its devices, but loads no code onto them. */
#include "cli/verbs/info_cuda.h"

#include <string.h>

#include "base/json_text.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/image.h"

/* A device of this machine and the program's code for it. */
typedef struct device_facts {
    char name[128];
    int architecture, multiprocessors, driver_version; /* architecture: 90 for sm_90 */
    lh_status status;                                  /* LH_OK: the device can run the program */
    const lh_cuda_image *image;                        /* NULL: the source, which must be compiled here */
    lh_error problem;                                  /* reason why the device cannot run the program */
} device_facts;

static lh_status count_devices(const lh_cuda_driver **driver, int *count, lh_error *error) {
    *count = 0;
    lh_status status = lh_cuda_driver_open(driver, error);
    if (status != LH_OK) return status;
    return lh_cuda_check(*driver, (*driver)->cuDeviceGetCount(count), "cuDeviceGetCount", error);
}

static void read_device(const lh_cuda_driver *driver, const lh_cuda_program *program, int ordinal, device_facts *f) {
    CUdevice handle;
    int major = 0, minor = 0;
    *f = (device_facts){.status = LH_OK};
    CUresult result = driver->cuDeviceGet(&handle, ordinal);
    if (result == 0) result = driver->cuDriverGetVersion(&f->driver_version);
    if (result == 0) result = driver->cuDeviceGetName(f->name, sizeof f->name, handle);
    if (result == 0) result = driver->cuDeviceGetAttribute(&major, LH_CUDA_MAJOR, handle);
    if (result == 0) result = driver->cuDeviceGetAttribute(&minor, LH_CUDA_MINOR, handle);
    if (result == 0) result = driver->cuDeviceGetAttribute(&f->multiprocessors, LH_CUDA_MULTIPROCESSORS, handle);
    f->architecture = 10 * major + minor;
    f->status = lh_cuda_check(driver, result, "the query of a device", &f->problem);
    if (f->status == LH_OK && f->architecture < program->least_architecture)
        f->status =
            lh_fail(&f->problem, LH_ERR_ENVIRONMENT, "this program needs sm_%d or later", program->least_architecture);
    if (f->status == LH_OK)
        f->status = lh_cuda_choose_image(program, f->architecture, f->driver_version, &f->image, &f->problem);
}

static const char *get_image_name(const device_facts *f) {
    return f->image != NULL ? f->image->architecture : "source";
}

static bool is_machine_code(const lh_cuda_image *image) { return strncmp(image->architecture, "sm_", 3) == 0; }

/* ---- JSON ---- */

void lh_info_put_images(FILE *out, const lh_cuda_program *program, bool wants_machine_code) {
    const char *separator = "";
    putc('[', out);
    for (const lh_cuda_image *image = program != NULL ? program->images : NULL;
         image != NULL && image->architecture != NULL; image++) {
        if (is_machine_code(image) != wants_machine_code) continue;
        fputs(separator, out);
        lh_json_quote(out, image->architecture);
        separator = ",";
    }
    putc(']', out);
}

static void put_text(lh_json *json, const char *key, const char *text) {
    if (text != NULL) lh_json_string(json, key, text);
    else lh_json_raw(json, key, "null");
}

static void put_devices(FILE *out, const lh_cuda_driver *driver, const lh_cuda_program *program, int count) {
    putc('[', out);
    for (int i = 0; i < count; i++) {
        device_facts f;
        lh_json json;
        char architecture[16];
        read_device(driver, program, i, &f);
        snprintf(architecture, sizeof architecture, "sm_%d", f.architecture);
        fputs(i > 0 ? "," : "", out);
        lh_json_begin(&json, out);
        lh_json_string(&json, "name", f.name);
        lh_json_string(&json, "architecture", architecture);
        lh_json_integer(&json, "multiprocessors", f.multiprocessors);
        put_text(&json, "runs", f.status == LH_OK ? get_image_name(&f) : NULL);
        put_text(&json, "problem", f.status == LH_OK ? NULL : f.problem.text);
        lh_json_end(&json);
    }
    putc(']', out);
}

/* Prints the oldest driver that can load the program's images of a kind; null if there are none. */
static void put_driver(lh_json *json, const char *key, const lh_cuda_program *program, bool wants_machine_code) {
    int version = lh_cuda_find_oldest_driver(program, wants_machine_code),
        release = lh_cuda_get_driver_release(version);
    char text[LH_CUDA_VERSION_TEXT];
    lh_json driver;
    lh_json_raw(json, key, version > 0 ? "" : "null");
    if (version == 0) return;
    lh_json_begin(&driver, json->out);
    lh_json_string(&driver, "cuda", lh_cuda_write_version(version, text));
    if (release > 0) lh_json_integer(&driver, "release", release);
    else lh_json_raw(&driver, "release", "null");
    lh_json_end(&driver);
}

static void put_least_driver(FILE *out, const lh_cuda_program *program) {
    lh_json json;
    lh_json_begin(&json, out);
    put_driver(&json, "images", program, true);
    put_driver(&json, "ptx", program, false);
    lh_json_end(&json);
}

void lh_info_put_cuda(FILE *out, const lh_cuda_program *program) {
    lh_json json, variants;
    lh_error error = {""};
    const lh_cuda_driver *driver;
    int count;
    lh_status status = count_devices(&driver, &count, &error);
    lh_json_begin(&json, out);
    lh_json_string(&json, "source_digest", program->source_digest);
    lh_json_string(&json, "precision", program->precision);
    put_text(&json, "toolkit", program->toolkit);
    lh_json_raw(&json, "images", "");
    lh_info_put_images(out, program, true);
    lh_json_raw(&json, "ptx", "");
    lh_info_put_images(out, program, false);
    lh_json_raw(&json, "source", program->source != NULL ? "true" : "false");
    lh_json_integer(&json, "least_architecture", program->least_architecture);
    lh_json_raw(&json, "least_driver", "");
    put_least_driver(out, program);
    lh_json_raw(&json, "shards", "");
    lh_json_begin(&variants, out); /* chip: for one model on the whole GPU; replicas: for several models at once */
    lh_json_integer(&variants, program->chip.name, program->chip.shards);
    lh_json_integer(&variants, program->replicas.name, program->replicas.shards);
    lh_json_end(&variants);
    lh_json_raw(&json, "devices", "");
    put_devices(out, driver, program, status == LH_OK ? count : 0);
    put_text(&json, "problem", status == LH_OK ? NULL : error.text);
    lh_json_end(&json);
}

/* ---- text ---- */

/* Prints the oldest driver that can load the program's images; prints nothing if the program has no images. */
static void print_driver(const lh_cuda_program *program) {
    int machine = lh_cuda_find_oldest_driver(program, true), ptx = lh_cuda_find_oldest_driver(program, false);
    char text[LH_CUDA_DRIVER_TEXT];
    if (machine == 0 && ptx == 0) return;
    printf("%-14s needs a driver of %s", "", lh_cuda_describe_driver(machine > 0 ? machine : ptx, text));
    if (machine > 0 && ptx > machine) printf("; the PTX needs %s", lh_cuda_describe_driver(ptx, text));
    printf("\n");
}

static void print_images(const lh_cuda_program *program) {
    printf("%-14s", "cuda");
    for (const lh_cuda_image *image = program->images; image != NULL && image->architecture != NULL; image++)
        printf(" %s", image->architecture);
    if (program->toolkit != NULL) printf(" by toolkit %s", program->toolkit);
    if (program->source != NULL)
        printf("%s source to compile on the node", program->images != NULL && program->images->architecture ? "," : "");
    printf("; needs sm_%d or later; %s\n", program->least_architecture, program->precision);
    printf("%-14s %s: %d shards; %s: %d shards; device code %s\n", "", program->chip.name, program->chip.shards,
           program->replicas.name, program->replicas.shards, program->source_digest);
    print_driver(program);
}

/* Prints a message that may have several lines; indents the lines after the first to the second column. */
static void print_problem(const char *text) {
    for (const char *c = text; *c != 0; c++) {
        putchar(*c);
        if (*c == '\n') printf("%-15s", "");
    }
    putchar('\n');
}

void lh_info_print_cuda(const lh_cuda_program *program) {
    const lh_cuda_driver *driver;
    lh_error error;
    int count;
    if (program == NULL) {
        printf("%-14s none; ./longhand build SPEC --target cpu,cuda makes a trainer with a CUDA half\n", "cuda");
        return;
    }
    print_images(program);
    if (count_devices(&driver, &count, &error) != LH_OK) {
        printf("%-14s ", "");
        print_problem(error.text);
        return;
    }
    for (int i = 0; i < count; i++) {
        device_facts f;
        read_device(driver, program, i, &f);
        printf("%-14s cuda:%d %s, sm_%d, %d multiprocessors: ", "", i, f.name, f.architecture, f.multiprocessors);
        if (f.status == LH_OK) printf("runs %s\n", get_image_name(&f));
        else print_problem(f.problem.text);
    }
}
