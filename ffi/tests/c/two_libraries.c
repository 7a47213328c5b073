/* Two static Rust libraries in one program. */

#include <nanoembed.h>

int other_rust_library(int number);

int main(void) { return nanoembed_abi_version() == NANOEMBED_ABI_VERSION && other_rust_library(20) == 21 ? 0 : 1; }
