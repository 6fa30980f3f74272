/* Replacements for the CUDA driver and for NVRTC, compiled by the tests that use them; see tests/support/fake_cuda. */
#ifndef LH_FAKE_CUDA_H
#define LH_FAKE_CUDA_H

/* Compiles tests/support/fake_cuda/<name>.c with these flags into directory/library; fails the test after an error.
 * Creates the directory. */
void lh_compile_fake_cuda(const char *name, const char *flags, const char *directory, const char *library);

#endif
