/* The choice of a program's image for a device. Architectures are numbers: 90 for compute capability 9.0 (sm_90). */
#ifndef LONGHAND_CUDA_IMAGE_H
#define LONGHAND_CUDA_IMAGE_H

#include <stdbool.h>

#include "longhand/cuda.h"
#include "longhand/status.h"

/* The architecture in an image's name: "sm_90", "sm_90a", "sm_100f", "compute_75", ... */
typedef struct lh_cuda_kind {
    bool is_machine_code; /* sm_: machine code; compute_: the intermediate form */
    int architecture;     /* 90 */
    char suffix;          /* 'a': runs on this architecture alone; 'f': also on later minors of its family; 0: none */
} lh_cuda_kind;

/* Parses the name of an image; false: `name` has another form, and *kind is undefined. */
bool lh_cuda_parse_kind(const char *name, lh_cuda_kind *kind);

/* Whether a device of this architecture runs an image. An image with suffix 'a' runs on its own architecture alone.
 * Other machine code, and the intermediate form with suffix 'f', run on the image's major version at its minor version
 * or later. The intermediate form without suffix runs on its own and every later architecture. */
bool lh_cuda_runs_image(const lh_cuda_kind *kind, int architecture);

/* Chooses the best image that device and driver accept: machine code before the intermediate form, then the latest
 * architecture, then suffix 'a', 'f', none. The driver accepts machine code of toolkits up to its own major version,
 * and the intermediate form of toolkits up to its own version (driver_version 13000: 13.0). *image is NULL if no image
 * is suitable but the program has its source, which the caller then compiles. LH_ERR_ENVIRONMENT: neither image nor
 * source; the message has the images and the device or, if the driver is too old for an image, the versions of driver
 * and toolkit. */
lh_status lh_cuda_choose_image(const lh_cuda_program *program, int architecture, int driver_version,
                               const lh_cuda_image **image, lh_error *error);

/* Formats a version number of the driver: "12.4" for 12040. */
enum { LH_CUDA_VERSION_TEXT = 16 };
const char *lh_cuda_write_version(int version, char text[LH_CUDA_VERSION_TEXT]);

/* The lowest CUDA version of a driver for the program's machine code or intermediate form, as the driver numbers it
 * (12040); 0: the program has no image of this kind. */
int lh_cuda_find_oldest_driver(const lh_cuda_program *program, bool is_machine_code);

/* The first release of NVIDIA's driver that knows this version of CUDA: 550 for 12040; 0: unknown. */
int lh_cuda_get_driver_release(int version);

/* Describes the oldest suitable driver for messages: "release 550 or later (CUDA 12.4)". */
enum { LH_CUDA_DRIVER_TEXT = 64 };
const char *lh_cuda_describe_driver(int version, char text[LH_CUDA_DRIVER_TEXT]);

#endif
