/* Prints the part of `info` on the CUDA half: its images, and their use on this machine. */
#ifndef LONGHAND_INFO_CUDA_H
#define LONGHAND_INFO_CUDA_H

#include <stdbool.h>
#include <stdio.h>

#include "longhand/cuda.h"

/* Prints the names of the program's images as a JSON list: images of machine code ("sm_90") or, with wants_machine_code
 * false, of the intermediate form ("compute_90"). */
void lh_info_put_images(FILE *out, const lh_cuda_program *program, bool wants_machine_code);

/* Prints the CUDA half as a JSON object. */
void lh_info_put_cuda(FILE *out, const lh_cuda_program *program);

/* Prints the CUDA half as text; program NULL: prints that there is none. */
void lh_info_print_cuda(const lh_cuda_program *program);

#endif
