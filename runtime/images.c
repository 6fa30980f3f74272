/* The device code of a trainer, linked only into trainers with a CUDA half. An image is device code compiled for one
 * architecture. cuda.mk defines these macros:
 *
 *     LH_CUDA_IMAGES         list of the images: IMAGE(sm_80) IMAGE(compute_80); undefined: no images
 *     LH_CUDA_FOLDER         folder with a file for each image: sm_80, compute_80
 *     LH_CUDA_IMAGES_SYMBOL  name of the variable with the images, an identifier
 *     LH_CUDA_TEXT           path of the source; undefined: the trainer contains no source
 *     LH_CUDA_TEXT_SYMBOL    name of the variable with the source, a string literal
 *
 * The generated cuda.c declares the two variables.
 */
#include "longhand/cuda.h"

/* Embeds a file, aligned for the driver. The 0 after the file terminates a text. */
#define EMBED(label, path) \
    __asm__(".pushsection .rodata\n" \
            ".balign 16\n" label ":\n" \
            ".incbin \"" path "\"\n" label "_end:\n" \
            ".byte 0\n" \
            ".popsection\n")

#if defined(LH_CUDA_IMAGES)
#define IMAGE(architecture) \
    EMBED("image_" #architecture, LH_CUDA_FOLDER "/" #architecture); \
    extern const unsigned char architecture##_first[] __asm__("image_" #architecture); \
    extern const unsigned char architecture##_end[] __asm__("image_" #architecture "_end");
LH_CUDA_IMAGES
#undef IMAGE

#define IMAGE(architecture) {#architecture, architecture##_first, architecture##_end},
extern const lh_cuda_image LH_CUDA_IMAGES_SYMBOL[];
const lh_cuda_image LH_CUDA_IMAGES_SYMBOL[] = {LH_CUDA_IMAGES{NULL, NULL, NULL}};
#endif

#if defined(LH_CUDA_TEXT)
__asm__(".globl " LH_CUDA_TEXT_SYMBOL "\n");
EMBED(LH_CUDA_TEXT_SYMBOL, LH_CUDA_TEXT);
#endif
