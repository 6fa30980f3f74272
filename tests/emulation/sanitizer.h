/* Defines LH_ADDRESS_SANITIZER if the address sanitizer is active. */
#ifndef LH_TESTS_SANITIZER_H
#define LH_TESTS_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define LH_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LH_ADDRESS_SANITIZER 1
#endif
#endif

#endif
