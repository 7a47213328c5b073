/* Files that lie in partitions of flash. */

#ifndef NANOEMBED_FLASH_H
#define NANOEMBED_FLASH_H

#include <nanoembed.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes `*source`, whose size is set, the file at the beginning of a partition, which is read when it is needed.
 *
 * `partition` is what DT_FIXED_PARTITION_ID has for its node, `bytes` the length of the file; 0 for all of the partition.
 * Files that end before are refused with NANOEMBED_TRAILING_BYTES by what opens them; error.offset is their length then.
 *
 * NANOEMBED_CANNOT_OPEN if there is no such partition or no driver for it, NANOEMBED_INVALID_ARGUMENT for more bytes
 * than it has. */
NANOEMBED_CHECK nanoembed_status nanoembed_flash_source(uint8_t partition, uint64_t bytes, nanoembed_source *source);

#ifdef __cplusplus
}
#endif

#endif
