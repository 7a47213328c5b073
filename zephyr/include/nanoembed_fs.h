/* Files of file systems: littlefs, FAT, whatever is mounted. */

#ifndef NANOEMBED_FS_H
#define NANOEMBED_FS_H

#include <nanoembed.h>

/* Headers have their folder since Zephyr 3.1. */
#if __has_include(<zephyr/kernel.h>)
#include <zephyr/fs/fs.h>
#include <zephyr/kernel.h>
#else
#include <fs/fs.h>
#include <zephyr.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A file that is open. */
struct nanoembed_fs_file {
    struct fs_file_t file;
    struct k_mutex lock;
};

/* Makes `*source`, whose size is set, the file at `path`, an absolute one of a file system that is mounted. It is read when
 * it is needed: `*file` keeps it open and stays where it is until `nanoembed_fs_close`, after which no handle over the
 * source may be used. Threads may share a model over it; they read one after the other.
 *
 * NANOEMBED_CANNOT_OPEN if there is no such file. Where reading fails later, the function that reads says
 * NANOEMBED_READ_FAILED. */
NANOEMBED_CHECK nanoembed_status nanoembed_fs_source(const char *path, struct nanoembed_fs_file *file,
                                                     nanoembed_source *source);

/* Closes the file of a source that `nanoembed_fs_source` made. */
void nanoembed_fs_close(struct nanoembed_fs_file *file);

#ifdef __cplusplus
}
#endif

#endif
