/* The compiled device code, linked only into trainers with a CUDA half.
 *
 * cuda.mk defines these macros. LH_CUDA_IMAGES lists the images (device code compiled for one architecture), if there
 * are any, as IMAGE(sm_80) IMAGE(compute_80); the folder LH_CUDA_FOLDER has a file sm_80 and a file compute_80.
 * LH_CUDA_TEXT is the path of the source of the device code, if the trainer also contains the source. The generated
 * cuda.c declares the list of images under the name LH_CUDA_IMAGES_SYMBOL, and the source under the name
 * LH_CUDA_TEXT_SYMBOL, which is a string literal.
 */
#include "longhand/cuda.h"

/* Embeds a file, aligned for the driver, and puts a 0 after it, since the file may be a text. The label is local to
 * this object unless .globl exports it. */
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
