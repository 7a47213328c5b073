/* An image of flash with a littlefs in it, of one file, as a board would have written it.
 *
 *   littlefs_image FLASH OFFSET BYTES FILE NAME       in BYTES behind OFFSET zeros
 */

#include <lfs.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096 };

static int read_block(const struct lfs_config *c, lfs_block_t block, lfs_off_t at, void *to, lfs_size_t bytes) {
    memcpy(to, (const uint8_t *)c->context + (size_t)block * BLOCK + at, bytes);
    return 0;
}

static int write_block(const struct lfs_config *c, lfs_block_t block, lfs_off_t at, const void *from, lfs_size_t bytes) {
    memcpy((uint8_t *)c->context + (size_t)block * BLOCK + at, from, bytes);
    return 0;
}

static int erase(const struct lfs_config *c, lfs_block_t block) {
    memset((uint8_t *)c->context + (size_t)block * BLOCK, 0xff, BLOCK);
    return 0;
}

static int sync_nothing(const struct lfs_config *c) { return (void)c, 0; }

static int fill(lfs_t *lfs, FILE *from, const char *name) {
    static uint8_t chunk[1 << 16];
    lfs_file_t file;
    size_t bytes;
    int failed = lfs_file_open(lfs, &file, name, LFS_O_WRONLY | LFS_O_CREAT);
    while (!failed && (bytes = fread(chunk, 1, sizeof chunk, from)) > 0)
        failed = lfs_file_write(lfs, &file, chunk, (lfs_size_t)bytes) != (lfs_ssize_t)bytes;
    return failed || ferror(from) || lfs_file_close(lfs, &file);
}

int main(int count, char **arguments) {
    size_t offset = count == 6 ? strtoul(arguments[2], NULL, 0) : 0, bytes = count == 6 ? strtoul(arguments[3], NULL, 0) : 0;
    uint8_t *flash = calloc(1, offset + bytes);
    struct lfs_config config = {
        .context = flash + offset, .read = read_block, .prog = write_block, .erase = erase, .sync = sync_nothing,
        .read_size = 16, .prog_size = 16, .block_size = BLOCK, .block_count = (lfs_size_t)(bytes / BLOCK),
        .block_cycles = 512, .cache_size = 1024, .lookahead_size = 32};
    lfs_t lfs;
    FILE *from, *out;
    if (count != 6 || !flash) return fprintf(stderr, "usage: %s FLASH OFFSET BYTES FILE NAME\n", arguments[0]), 2;
    from = fopen(arguments[4], "rb");
    out = fopen(arguments[1], "wb");
    if (!from || !out) return perror(arguments[from ? 1 : 4]), 1;
    if (lfs_format(&lfs, &config) || lfs_mount(&lfs, &config) || fill(&lfs, from, arguments[5]) || lfs_unmount(&lfs))
        return fprintf(stderr, "%s: the file system cannot be written\n", arguments[4]), 1;
    if (fwrite(flash, 1, offset + bytes, out) != offset + bytes || fclose(out)) return perror(arguments[1]), 1;
    return 0;
}
