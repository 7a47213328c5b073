/* What the tests of nanoembed.h share: checks, files and a callback that reads them. */

#ifndef TEST_H
#define TEST_H

#include <nanoembed.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int checks, failures;
/* Allocations so far; 0 unless the library's are counted, see test.c. */
extern unsigned long allocations;

#define CHECK(condition)                                                                            \
    do {                                                                                            \
        checks++;                                                                                   \
        if (!(condition)) {                                                                         \
            failures++;                                                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                         \
        }                                                                                           \
    } while (0)
#define IS(call, wanted)                                                                            \
    do {                                                                                            \
        nanoembed_status is_ = (call);                                                              \
        checks++;                                                                                   \
        if (is_ != (wanted)) {                                                                      \
            failures++;                                                                             \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                           \
                    nanoembed_status_message(is_));                                                 \
        }                                                                                           \
    } while (0)
#define OK(call) IS(call, NANOEMBED_OK)

typedef struct file {
    uint8_t *data;
    size_t bytes;
    /* For the callback. */
    size_t calls, at_most, fail_after;
} file;

file load(const char *path);

/* Reads a `file`: in short reads, and with errors in the middle, as it says. */
int32_t read_at(void *context, uint64_t offset, uint8_t *destination, size_t length, size_t *read);

/* The parts; each in a file of its own. */
void formats(void);
void readers(file *f, nanoembed_format format);
void dequantizing(file *gguf, file *uqff);
void models(file *f);
void static_models(file *f);
void word_vectors(file *f, const char *known);
void decoders(file *f);
void byte_pairs(file *f);
void pieces(file *f);
void word_pieces(file *f);

#endif
