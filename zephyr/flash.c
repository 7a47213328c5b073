/* See nanoembed_flash.h. */

#include <nanoembed_flash.h>

/* Headers have their folder since Zephyr 3.1. */
#if __has_include(<zephyr/storage/flash_map.h>)
#include <zephyr/storage/flash_map.h>
#else
#include <storage/flash_map.h>
#endif

static int32_t read_at(void *context, uint64_t offset, uint8_t *destination, size_t length, size_t *read) {
    const struct flash_area *area = context;
    if (offset >= area->fa_size) {
        *read = 0;
        return 0;
    }
    if (length > area->fa_size - (size_t)offset) length = area->fa_size - (size_t)offset;
    *read = length;
    return flash_area_read(area, (off_t)offset, destination, length);
}

nanoembed_status nanoembed_flash_source(uint8_t partition, uint64_t bytes, nanoembed_source *source) {
    const struct flash_area *area;
    if (flash_area_open(partition, &area) != 0) return NANOEMBED_CANNOT_OPEN;
    if (bytes > area->fa_size) return NANOEMBED_INVALID_ARGUMENT;
    return nanoembed_source_from_callback(read_at, (void *)area, bytes ? bytes : area->fa_size, source);
}
