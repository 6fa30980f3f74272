/* The image of a program that a device runs. Architectures are numbers: 90 for compute capability 9.0 (sm_90). */
#ifndef LONGHAND_CUDA_IMAGE_H
#define LONGHAND_CUDA_IMAGE_H

#include <stdbool.h>

#include "longhand/cuda.h"
#include "longhand/status.h"

/* The architecture in an image's name: "sm_90", "sm_90a", "sm_100f", "compute_75", ... */
typedef struct lh_cuda_kind {
    bool machine;     /* sm_: machine code; compute_: the intermediate form */
    int architecture; /* 90 */
    char suffix;      /* 'a': this architecture alone; 'f': its family, that is later minors too; 0: none */
} lh_cuda_kind;

/* Whether name has that form. */
bool lh_cuda_parse_kind(const char *name, lh_cuda_kind *kind);

/* Whether a device runs it. Machine code runs on its own major at its own minor or later; the intermediate form on its
 * own architecture and every later one, with a suffix as machine code. */
bool lh_cuda_runs(const lh_cuda_kind *kind, int architecture);

/* The best image for this device: machine code before the intermediate form, then the latest. The driver decides too: it
 * takes machine code of toolkits up to its own major version, the intermediate form of toolkits up to its own version
 * (driver_version 13000: 13.0). *image is NULL where none is left but the program has its source, which is to be
 * compiled then. LH_ERR_ENVIRONMENT: not even that; the message has the images, the device and both versions. */
lh_status lh_cuda_choose(const lh_cuda_program *program, int architecture, int driver_version,
                         const lh_cuda_image **image, lh_error *error);

/* A version as the driver numbers it, for people: "12.4" for 12040. */
enum { LH_CUDA_VERSION_TEXT = 16 };
const char *lh_cuda_version_text(int version, char text[LH_CUDA_VERSION_TEXT]);

/* The version of CUDA that a driver must know at least for the program's machine code, or for its intermediate form, as
 * the driver numbers it (12040); 0 where the program has none. */
int lh_cuda_least_driver(const lh_cuda_program *program, bool machine);

/* The first release of NVIDIA's driver that knows this version of CUDA: 550 for 12040; 0 where that is not known here. */
int lh_cuda_driver_release(int version);

/* The least driver as a text for people: "release 550 or later (CUDA 12.4)". */
enum { LH_CUDA_DRIVER_TEXT = 64 };
const char *lh_cuda_driver_text(int version, char text[LH_CUDA_DRIVER_TEXT]);

#endif
