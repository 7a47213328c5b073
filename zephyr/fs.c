/* See nanoembed_fs.h. */

#include <nanoembed_fs.h>

static int read_here(struct fs_file_t *file, uint64_t offset, uint8_t *destination, size_t length, size_t *read) {
    off_t place = (off_t)offset;
    *read = 0;
    if (place < 0 || (uint64_t)place != offset || fs_seek(file, place, FS_SEEK_SET) != 0) return 1;
    while (*read < length) {
        ssize_t more = fs_read(file, destination + *read, length - *read);
        if (more < 0) return 1;
        if (more == 0) break;
        *read += (size_t)more;
    }
    return 0;
}

/* Threads that share a model share the file, which has one place. */
static int32_t read_at(void *context, uint64_t offset, uint8_t *destination, size_t length, size_t *read) {
    struct nanoembed_fs_file *open = context;
    int failed;
    (void)k_mutex_lock(&open->lock, K_FOREVER);
    failed = read_here(&open->file, offset, destination, length, read);
    (void)k_mutex_unlock(&open->lock);
    return failed;
}

/* After the last byte of a file; negative if that fails. */
static off_t end_of(struct fs_file_t *file) {
    int failed = fs_seek(file, 0, FS_SEEK_END);
    return failed < 0 ? failed : fs_tell(file);
}

nanoembed_status nanoembed_fs_source(const char *path, struct nanoembed_fs_file *file, nanoembed_source *source) {
    nanoembed_status status = NANOEMBED_CANNOT_OPEN;
    off_t end;
    if (!path || !file) return NANOEMBED_BAD_POINTER;
    fs_file_t_init(&file->file);
    (void)k_mutex_init(&file->lock);
    if (fs_open(&file->file, path, FS_O_READ) != 0) return status;
    end = end_of(&file->file);
    if (end >= 0) status = nanoembed_source_from_callback(read_at, file, (uint64_t)end, source);
    if (status) (void)fs_close(&file->file);
    return status;
}

void nanoembed_fs_close(struct nanoembed_fs_file *file) { (void)fs_close(&file->file); }
