/* Calls every function of nanoembed.h, with what it should be called with and with what it should not.
 *
 *   test MODEL.weights WORDS.fifu QUANTIZED_WORDS.fifu BLOCKS.gguf UQFF
 */

#include <nanoembed.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks, failures;

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

/* Linked with -Wl,--wrap=malloc and so on the allocations of the library are counted; else there are none to see. */
static unsigned long allocations;
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
int __real_posix_memalign(void **memory, size_t align, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
int __wrap_posix_memalign(void **memory, size_t align, size_t bytes);
#ifdef COUNT_ALLOCATIONS
void *__wrap_malloc(size_t bytes) { return allocations++, __real_malloc(bytes); }
void *__wrap_calloc(size_t count, size_t bytes) { return allocations++, __real_calloc(count, bytes); }
void *__wrap_realloc(void *memory, size_t bytes) { return allocations++, __real_realloc(memory, bytes); }
int __wrap_posix_memalign(void **memory, size_t align, size_t bytes) {
    return allocations++, __real_posix_memalign(memory, align, bytes);
}
#endif

typedef struct file {
    uint8_t *data;
    size_t bytes;
    /* For the callback. */
    size_t calls, at_most, fail_after;
} file;

static file load(const char *path) {
    file f;
    FILE *in = fopen(path, "rb");
    memset(&f, 0, sizeof f);
    f.at_most = f.fail_after = (size_t)-1;
    if (!in) {
        fprintf(stderr, "cannot open %s\n", path);
        exit(2);
    }
    fseek(in, 0, SEEK_END);
    f.bytes = (size_t)ftell(in);
    rewind(in);
    f.data = malloc(f.bytes ? f.bytes : 1);
    if (!f.data || fread(f.data, 1, f.bytes, in) != f.bytes) exit(2);
    fclose(in);
    return f;
}

/* Short reads, and errors in the middle. */
static int32_t read_at(void *context, uint64_t offset, uint8_t *destination, size_t length, size_t *read) {
    file *f = context;
    size_t there = offset < f->bytes ? f->bytes - (size_t)offset : 0;
    size_t n = length < there ? length : there;
    if (n > f->at_most) n = f->at_most;
    if (f->calls++ >= f->fail_after) return 1;
    memcpy(destination, f->data + offset, n);
    *read = n;
    return 0;
}

static const uint8_t *text(const char *s) { return (const uint8_t *)s; }

static void versions_and_statuses(void) {
    char buffer[64];
    nanoembed_error error;
    error.status = NANOEMBED_BAD_MAGIC;
    error.offset = 1234567890123u;
    CHECK(nanoembed_abi_version() == NANOEMBED_ABI_VERSION);
    CHECK(strchr(nanoembed_version(), '.') != NULL);
    CHECK(nanoembed_align() <= NANOEMBED_ALIGN);
    CHECK(strcmp(nanoembed_status_name(NANOEMBED_OK), "ok") == 0);
    CHECK(strcmp(nanoembed_status_name(NANOEMBED_BUFFER_TOO_SMALL), "buffer_too_small") == 0);
    CHECK(strcmp(nanoembed_status_name(77), "unknown") == 0);
    CHECK(strstr(nanoembed_status_message(NANOEMBED_STOPPED), "stop") != NULL);
    CHECK(strstr(nanoembed_status_message(4000000000u), "unknown") != NULL);
    OK(nanoembed_error_describe(&error, buffer, sizeof buffer));
    CHECK(strncmp(buffer, "byte 1234567890123: the file does not start", 43) == 0);
    OK(nanoembed_error_describe(&error, buffer, 8));
    CHECK(strcmp(buffer, "byte 12") == 0);
    OK(nanoembed_error_describe(&error, buffer, 1));
    CHECK(strcmp(buffer, "") == 0);
    IS(nanoembed_error_describe(&error, buffer, 0), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_error_describe(NULL, buffer, 8), NANOEMBED_BAD_POINTER);
    IS(nanoembed_error_describe(&error, NULL, 8), NANOEMBED_BAD_POINTER);
}

static void sources(void) {
    nanoembed_source source;
    uint8_t byte = 0;
    OK(nanoembed_source_from_buffer(&byte, 1, &source));
    CHECK(source.data == &byte && source.length == 1);
    IS(nanoembed_source_from_buffer(NULL, 1, &source), NANOEMBED_BAD_POINTER);
    IS(nanoembed_source_from_buffer(&byte, 1, NULL), NANOEMBED_BAD_POINTER);
    OK(nanoembed_source_from_callback(read_at, NULL, 5, &source));
    CHECK(source.data == NULL && source.length == 5);
    IS(nanoembed_source_from_callback(NULL, NULL, 5, &source), NANOEMBED_BAD_POINTER);
    IS(nanoembed_source_from_callback(read_at, NULL, 5, NULL), NANOEMBED_BAD_POINTER);
}

/* What a pass over a file adds up to, the same however the file is read. */
typedef struct digest {
    size_t events, tensors, tokens, stop_after;
    uint64_t hash, data_hash;
} digest;

static void mix(uint64_t *hash, const void *bytes, size_t length) {
    const uint8_t *at = bytes;
    while (length--) *hash = (*hash ^ *at++) * 0x100000001b3u;
}

static int32_t count(void *context, const nanoembed_event *event) {
    digest *d = context;
    if (event->kind == NANOEMBED_EVENT_DATA) {
        mix(&d->data_hash, event->value.data, event->value.length);
        return 0;
    }
    d->events++;
    d->tensors += event->kind == NANOEMBED_EVENT_TENSOR;
    d->tokens += event->kind == NANOEMBED_EVENT_TOKEN;
    if (event->kind != NANOEMBED_EVENT_DOCUMENT) {
        mix(&d->hash, &event->kind, sizeof event->kind);
        mix(&d->hash, &event->id, sizeof event->id);
        mix(&d->hash, &event->tensor.bytes, sizeof event->tensor.bytes);
        mix(&d->hash, event->key.data, event->key.length);
        mix(&d->hash, event->value.data, event->value.length);
    }
    return d->events == d->stop_after;
}

static digest pull(const nanoembed_source *source, const nanoembed_reader_options *options) {
    size_t bytes = nanoembed_reader_bytes() + 8192;
    uint8_t *memory = malloc(bytes);
    nanoembed_reader *reader = NULL;
    nanoembed_error error;
    nanoembed_event event;
    digest d;
    memset(&d, 0, sizeof d);
    OK(nanoembed_reader_init(source, options, memory, bytes, &reader));
    do {
        nanoembed_status status = nanoembed_reader_next(reader, &event, &error);
        OK(status);
        if (status) break;
        count(&d, &event);
    } while (event.kind != NANOEMBED_EVENT_END);
    IS(nanoembed_reader_next(reader, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_reader_feed(reader, memory, 0, count, &d, NULL), NANOEMBED_INVALID_ARGUMENT);
    free(memory);
    return d;
}

static void readers(file *f, nanoembed_format format) {
    nanoembed_reader_options options;
    nanoembed_source buffer, stored;
    digest one, other, pushed;
    size_t at, bytes = nanoembed_reader_bytes() + 8192;
    uint8_t *memory = malloc(bytes);
    nanoembed_reader *reader = NULL;
    nanoembed_error error;
    nanoembed_event event;
    memset(&options, 0, sizeof options);
    options.format = format;
    options.data = 1;
    OK(nanoembed_source_from_buffer(f->data, f->bytes, &buffer));
    OK(nanoembed_source_from_callback(read_at, f, f->bytes, &stored));
    one = pull(&buffer, &options);
    f->at_most = 777;
    other = pull(&stored, &options);
    f->at_most = (size_t)-1;
    CHECK(one.events > 2 && one.events == other.events && one.hash == other.hash);
    CHECK(one.data_hash == other.data_hash);
    memset(&pushed, 0, sizeof pushed);
    OK(nanoembed_reader_init(NULL, &options, memory, bytes, &reader));
    for (at = 0; at < f->bytes; at += 1000) {
        size_t n = f->bytes - at < 1000 ? f->bytes - at : 1000;
        OK(nanoembed_reader_feed(reader, f->data + at, n, count, &pushed, &error));
    }
    OK(nanoembed_reader_finish(reader, count, &pushed, &error));
    CHECK(one.events == pushed.events && one.hash == pushed.hash && one.data_hash == pushed.data_hash);
    IS(nanoembed_reader_next(reader, &event, NULL), NANOEMBED_INVALID_ARGUMENT);

    /* Cut, stopped, failing, without a callback. */
    OK(nanoembed_reader_init(NULL, &options, memory, bytes, &reader));
    OK(nanoembed_reader_feed(reader, f->data, 7, count, &pushed, NULL));
    IS(nanoembed_reader_finish(reader, count, &pushed, &error), NANOEMBED_UNEXPECTED_END);
    CHECK(error.status == NANOEMBED_UNEXPECTED_END);
    OK(nanoembed_reader_init(NULL, &options, memory, bytes, &reader));
    pushed.events = 0;
    pushed.stop_after = 2;
    IS(nanoembed_reader_feed(reader, f->data, f->bytes, count, &pushed, &error), NANOEMBED_STOPPED);
    CHECK(pushed.events == 2);
    IS(nanoembed_reader_feed(reader, f->data, 1, NULL, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_reader_feed(reader, NULL, 1, count, &pushed, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_reader_feed(NULL, f->data, 1, count, &pushed, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_reader_finish(NULL, count, &pushed, NULL), NANOEMBED_BAD_POINTER);
    f->calls = 0;
    f->fail_after = 1;
    f->at_most = 20;
    OK(nanoembed_reader_init(&stored, &options, memory, bytes, &reader));
    do {
        at = nanoembed_reader_next(reader, &event, &error);
    } while (at == NANOEMBED_OK && event.kind != NANOEMBED_EVENT_END);
    CHECK(at == NANOEMBED_READ_FAILED && error.status == NANOEMBED_READ_FAILED);
    f->fail_after = f->at_most = (size_t)-1;

    /* Memory: exact, and its pointer checked. */
    IS(nanoembed_reader_init(NULL, &options, memory, nanoembed_reader_bytes() - 1, &reader),
       NANOEMBED_BUFFER_TOO_SMALL);
    OK(nanoembed_reader_init(NULL, &options, memory, nanoembed_reader_bytes(), &reader));
    IS(nanoembed_reader_init(NULL, &options, memory + 1, bytes - 1, &reader), NANOEMBED_BAD_POINTER);
    IS(nanoembed_reader_init(NULL, &options, NULL, bytes, &reader), NANOEMBED_BAD_POINTER);
    IS(nanoembed_reader_init(NULL, NULL, memory, bytes, &reader), NANOEMBED_BAD_POINTER);
    IS(nanoembed_reader_init(NULL, &options, memory, bytes, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_reader_next(NULL, &event, NULL), NANOEMBED_BAD_POINTER);
    options.format = 99;
    IS(nanoembed_reader_init(NULL, &options, memory, bytes, &reader), NANOEMBED_UNKNOWN_FORMAT);
    CHECK(nanoembed_sniff(f->data, f->bytes) == format || format == NANOEMBED_FORMAT_UQFF);
    free(memory);
}

static void formats(void) {
    CHECK(nanoembed_sniff(NULL, 9) == NANOEMBED_FORMAT_UNKNOWN);
    CHECK(nanoembed_sniff(text("nonsense!"), 9) == NANOEMBED_FORMAT_UNKNOWN);
    CHECK(strcmp(nanoembed_format_name(NANOEMBED_FORMAT_UQFF), "uqff") == 0);
    CHECK(strcmp(nanoembed_format_name(1000), "unknown") == 0);
    CHECK(strcmp(nanoembed_dtype_name(2), "f32") == 0);
    CHECK(strcmp(nanoembed_dtype_name(0), "unknown") == 0);
    CHECK(strcmp(nanoembed_dtype_name(28), "q8_k") == 0);
    CHECK(strcmp(nanoembed_dtype_name(29), "unknown") == 0);
}

static void dequantizing(file *gguf, file *uqff) {
    nanoembed_reader_options options;
    nanoembed_source buffer, stored;
    nanoembed_reader *reader = NULL;
    nanoembed_event event;
    size_t bytes = nanoembed_reader_bytes() + 8192, seen = 0;
    uint8_t *memory = malloc(bytes);
    uint8_t tile[300];
    static float a[512], b[512];
    uint64_t elements = 0;
    uint8_t half[4] = {0x00, 0x3c, 0x00, 0xc0};
    memset(&options, 0, sizeof options);
    options.format = NANOEMBED_FORMAT_GGUF;
    OK(nanoembed_source_from_buffer(gguf->data, gguf->bytes, &buffer));
    OK(nanoembed_source_from_callback(read_at, gguf, gguf->bytes, &stored));
    OK(nanoembed_reader_init(&buffer, &options, memory, bytes, &reader));
    while (nanoembed_reader_next(reader, &event, NULL) == NANOEMBED_OK && event.kind != NANOEMBED_EVENT_END) {
        nanoembed_tensor t = event.tensor;
        size_t n = 1, i;
        if (event.kind != NANOEMBED_EVENT_TENSOR) continue;
        for (i = 0; i < t.dimension_count; i++) n *= (size_t)t.dimensions[i];
        n = n < 300 ? n : 300;
        OK(nanoembed_tensor_dequantize(&buffer, &t, 1, NULL, 0, a, n - 1, NULL));
        OK(nanoembed_tensor_dequantize(&stored, &t, 1, tile, sizeof tile, b, n - 1, NULL));
        CHECK(memcmp(a, b, (n - 1) * sizeof *a) == 0);
        OK(nanoembed_dequantize(t.dtype, gguf->data + t.offset, (size_t)t.bytes, 1, b, n - 1));
        CHECK(memcmp(a, b, (n - 1) * sizeof *a) == 0);
        IS(nanoembed_tensor_dequantize(&stored, &t, 0, tile, 0, b, 1, NULL), NANOEMBED_BUFFER_TOO_SMALL);
        IS(nanoembed_tensor_dequantize(&buffer, &t, t.bytes * 8, NULL, 0, b, 1, NULL), NANOEMBED_INVALID_ARGUMENT);
        IS(nanoembed_tensor_dequantize(&buffer, &t, (uint64_t)-1, NULL, 0, b, 1, NULL), NANOEMBED_INVALID_ARGUMENT);
        seen++;
    }
    CHECK(seen > 1);
    OK(nanoembed_dequantize(3, half, 4, 0, a, 2));
    CHECK(a[0] == 1.0f && a[1] == -2.0f);
    IS(nanoembed_dequantize(3, half, 4, 0, a, 3), NANOEMBED_INVALID_ARGUMENT);
    IS(nanoembed_dequantize(0, half, 4, 0, a, 1), NANOEMBED_INVALID_ARGUMENT);
    IS(nanoembed_dequantize(3, NULL, 4, 0, a, 1), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tensor_dequantize(NULL, NULL, 0, NULL, 0, a, 1, NULL), NANOEMBED_BAD_POINTER);

    free(memory);
    bytes = nanoembed_uqff_bytes(256);
    memory = malloc(bytes);
    OK(nanoembed_uqff_dequantize(uqff->data, uqff->bytes, text("0"), 1, 0, memory, bytes, NULL, 0, &elements, NULL));
    CHECK(elements > 4);
    OK(nanoembed_uqff_dequantize(uqff->data, uqff->bytes, text("0"), 1, 1, memory, bytes, a, 3, NULL, NULL));
    CHECK(isfinite(a[0]) && isfinite(a[1]) && isfinite(a[2]));
    IS(nanoembed_uqff_dequantize(uqff->data, uqff->bytes, text("?"), 1, 0, memory, bytes, a, 1, NULL, NULL),
       NANOEMBED_NOT_FOUND);
    IS(nanoembed_uqff_dequantize(NULL, 9, text("0"), 1, 0, memory, bytes, a, 1, NULL, NULL), NANOEMBED_BAD_POINTER);
    free(memory);
}

static float difference(const float *a, const float *b, size_t n) {
    float most = 0;
    while (n--) {
        float d = fabsf(a[n] - b[n]);
        if (!(d <= most)) most = d;
    }
    return most;
}

/* A model with exactly the memory that it was said to take, and with a byte less. */
static void lent_model(const nanoembed_source *source, const nanoembed_model_options *options, float *vector) {
    size_t scratch_bytes = nanoembed_scratch_bytes();
    uint8_t *scratch = malloc(scratch_bytes), *memory, *work;
    nanoembed_plan plan;
    nanoembed_error error;
    nanoembed_model *model = NULL;
    nanoembed_workspace *workspace = NULL;
    nanoembed_tokenized tokenized;
    unsigned long before;
    IS(nanoembed_plan_model(source, options, scratch, scratch_bytes - 1, &plan, &error), NANOEMBED_BUFFER_TOO_SMALL);
    OK(nanoembed_plan_model(source, options, scratch, scratch_bytes, &plan, &error));
    CHECK(plan.dimensions == 384);
    memory = malloc(plan.model_bytes);
    work = malloc(plan.workspace_bytes);
    before = allocations;
    IS(nanoembed_model_init(source, options, memory, plan.model_bytes - 1, scratch, scratch_bytes, &model, &error),
       NANOEMBED_BUFFER_TOO_SMALL);
    CHECK(model == NULL);
    IS(nanoembed_model_init(source, options, memory, plan.model_bytes, scratch, scratch_bytes - 1, &model, &error),
       NANOEMBED_BUFFER_TOO_SMALL);
    OK(nanoembed_model_init(source, options, memory, plan.model_bytes, scratch, scratch_bytes, &model, &error));
    memset(scratch, 0x55, scratch_bytes);
    CHECK(nanoembed_workspace_bytes(model) == plan.workspace_bytes);
    IS(nanoembed_workspace_init(model, work, plan.workspace_bytes - 1, &workspace), NANOEMBED_BUFFER_TOO_SMALL);
    CHECK(workspace == NULL);
    OK(nanoembed_workspace_init(model, work, plan.workspace_bytes, &workspace));
    OK(nanoembed_embed_text(model, workspace, text("How do I log in?"), 16, vector, 384, &tokenized, &error));
    CHECK(tokenized.tokens == 8 && tokenized.total == 8 && !tokenized.truncated);
    CHECK(allocations == before);
    IS(nanoembed_plan_model(source, options, NULL, scratch_bytes, &plan, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_plan_model(source, options, scratch, scratch_bytes, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_model_init(source, options, NULL, 0, scratch, scratch_bytes, &model, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_model_init(source, options, memory + 1, 8, scratch, scratch_bytes, &model, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_workspace_init(NULL, work, plan.workspace_bytes, &workspace), NANOEMBED_BAD_POINTER);
    IS(nanoembed_workspace_init(model, work, plan.workspace_bytes, NULL), NANOEMBED_BAD_POINTER);
    /* Those in lent memory are left alone. */
    nanoembed_workspace_free(workspace);
    nanoembed_model_free(model);
    free(work);
    free(memory);
    free(scratch);
}

static void models(file *f) {
    nanoembed_source source, stored, cut;
    nanoembed_model_options options;
    nanoembed_model *model = NULL;
    nanoembed_workspace *workspace = NULL;
    nanoembed_error error;
    nanoembed_model_info info;
    nanoembed_tokenized tokenized;
    nanoembed_strings strings;
    static float lent[384], from_storage[384], vector[384], rows[6 * 384], untouched[384];
    uint32_t ids[16], too_large = 1u << 30;
    uint8_t status[6];
    const char *joined = "How do I log in?Log\xff" "xHow do I log in?";
    int32_t offsets[] = {99, 0, 16, 16, 20, 21, 37, 12, 11};
    uint8_t validity = 0xff & ~(1 << 4);
    float cosine = 0;
    size_t i;

    OK(nanoembed_source_from_buffer(f->data, f->bytes, &source));
    OK(nanoembed_source_from_callback(read_at, f, f->bytes, &stored));
    OK(nanoembed_model_options_default(&options));
    IS(nanoembed_model_options_default(NULL), NANOEMBED_BAD_POINTER);
    options.tokens = 32;
    lent_model(&source, &options, lent);
    options.tile_bytes = 16384;
    options.block_tokens = 3;
    f->at_most = 5000;
    lent_model(&stored, &options, from_storage);
    f->at_most = (size_t)-1;
    CHECK(difference(lent, from_storage, 384) <= 1e-6f);

    OK(nanoembed_model_new(&source, &options, &model, &error));
    OK(nanoembed_workspace_new(model, &workspace));
    OK(nanoembed_model_get_info(model, &info));
    CHECK(info.dimensions == 384 && info.layers == 6 && info.heads == 12 && info.vocabulary == 30522);
    CHECK(info.has_tokenizer == 1 && info.workspace_tokens == 32 && info.positions == 512);
    OK(nanoembed_tokenize(model, text("How do I log in?"), 16, ids, 16, &tokenized, &error));
    CHECK(tokenized.tokens == 8 && ids[0] == 101 && ids[1] == 2129 && ids[7] == 102);
    OK(nanoembed_embed_ids(model, workspace, ids, 8, vector, 384, &error));
    CHECK(difference(vector, lent, 384) == 0);
    OK(nanoembed_cosine(vector, lent, 384, &cosine));
    CHECK(fabsf(cosine - 1.0f) < 1e-6f);
    OK(nanoembed_tokenize(model, text("How do I log in?"), 16, ids, 3, &tokenized, &error));
    CHECK(tokenized.tokens == 3 && tokenized.total == 8 && tokenized.truncated && ids[2] == 102);

    /* A column: offset 1 into it, a plain row, an empty one, broken UTF-8, a null, the plain row again, bad offsets. */
    memset(&strings, 0, sizeof strings);
    strings.offsets = offsets;
    strings.data = text(joined);
    strings.data_bytes = 37;
    strings.validity = &validity;
    strings.first = 1;
    strings.length = 6;
    memset(rows, 0x7f, sizeof rows);
    OK(nanoembed_embed_strings(model, workspace, &strings, rows, 6 * 384, status, 6, &error));
    CHECK(status[0] == NANOEMBED_ROW_OK && status[1] == NANOEMBED_ROW_OK);
    CHECK(status[2] == NANOEMBED_ROW_INVALID_UTF8 && status[3] == NANOEMBED_ROW_NULL);
    CHECK(status[4] == NANOEMBED_ROW_OK && status[5] == NANOEMBED_ROW_BAD_OFFSETS);
    CHECK(difference(rows, lent, 384) < 1e-6f && difference(rows + 4 * 384, lent, 384) < 1e-6f);
    memset(untouched, 0, sizeof untouched);
    for (i = 0; i < 6; i++) CHECK((difference(rows + i * 384, untouched, 384) == 0) == (i == 2 || i == 3 || i == 5));
    IS(nanoembed_embed_strings(model, workspace, &strings, rows, 6 * 384 - 1, status, 6, NULL), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_embed_strings(model, workspace, &strings, rows, 6 * 384, status, 5, NULL), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_embed_strings(model, workspace, NULL, rows, 6 * 384, status, 6, NULL), NANOEMBED_BAD_POINTER);
    strings.length = 0;
    OK(nanoembed_embed_strings(model, workspace, &strings, NULL, 0, NULL, 0, NULL));

    /* Long texts are cut, also in a column. */
    {
        char many[400];
        int32_t places[] = {0, 399, 399};
        for (i = 0; i < 399; i++) many[i] = i % 2 ? ' ' : 'a';
        OK(nanoembed_embed_text(model, workspace, text(many), 399, vector, 384, &tokenized, &error));
        CHECK(tokenized.tokens == 32 && tokenized.total == 202 && tokenized.truncated);
        memset(&strings, 0, sizeof strings);
        strings.offsets = places;
        strings.data = text(many);
        strings.data_bytes = 399;
        strings.length = 2;
        OK(nanoembed_embed_strings(model, workspace, &strings, rows, 2 * 384, status, 2, &error));
        CHECK(status[0] == NANOEMBED_ROW_TRUNCATED && status[1] == NANOEMBED_ROW_OK);
        CHECK(difference(rows, vector, 384) < 1e-6f);
    }

    /* Wrong calls; nothing is written. */
    memcpy(untouched, vector, sizeof vector);
    IS(nanoembed_embed_text(model, workspace, text("a\xff"), 2, vector, 384, NULL, &error), NANOEMBED_INVALID_UTF8);
    CHECK(error.offset == 1);
    IS(nanoembed_embed_text(model, workspace, NULL, 2, vector, 384, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_embed_text(NULL, workspace, text("a"), 1, vector, 384, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_embed_text(model, NULL, text("a"), 1, vector, 384, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_embed_text(model, workspace, text("a"), 1, vector, 383, NULL, NULL), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_embed_ids(model, workspace, ids, 0, vector, 384, NULL), NANOEMBED_INVALID_ARGUMENT);
    IS(nanoembed_embed_ids(model, workspace, &too_large, 1, vector, 384, NULL), NANOEMBED_TOKEN_OUT_OF_RANGE);
    IS(nanoembed_embed_ids(model, workspace, NULL, 1, vector, 384, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_embed_ids(model, workspace, ids, 3, NULL, 384, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenize(model, text("a"), 1, ids, 1, &tokenized, NULL), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_tokenize(model, text("a"), 1, ids, 9, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_model_get_info(NULL, &info), NANOEMBED_BAD_POINTER);
    IS(nanoembed_model_get_info(model, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_cosine(NULL, lent, 384, &cosine), NANOEMBED_BAD_POINTER);
    IS(nanoembed_model_new(&source, &options, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_model_new(NULL, &options, &model, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_workspace_new(NULL, &workspace), NANOEMBED_BAD_POINTER);
    IS(nanoembed_workspace_new(model, NULL), NANOEMBED_BAD_POINTER);
    CHECK(memcmp(untouched, vector, sizeof vector) == 0);
    CHECK(nanoembed_workspace_bytes(NULL) == 0);
    nanoembed_workspace_free(workspace);
    nanoembed_model_free(model);
    nanoembed_workspace_free(NULL);
    nanoembed_model_free(NULL);

    /* Without a tokenizer, and options that are none. */
    options.vocabulary = NANOEMBED_VOCABULARY_NONE;
    OK(nanoembed_model_new(&source, &options, &model, NULL));
    OK(nanoembed_workspace_new(model, &workspace));
    IS(nanoembed_embed_text(model, workspace, text("a"), 1, vector, 384, NULL, NULL), NANOEMBED_MISSING_VOCABULARY);
    OK(nanoembed_embed_ids(model, workspace, ids, 3, vector, 384, NULL));
    nanoembed_workspace_free(workspace);
    nanoembed_model_free(model);
    options.vocabulary = 9;
    IS(nanoembed_model_new(&source, &options, &model, NULL), NANOEMBED_INVALID_ARGUMENT);
    options.vocabulary = NANOEMBED_VOCABULARY_INDEXED;
    IS(nanoembed_model_new(&stored, &options, &model, NULL), NANOEMBED_INDEX_REQUIRED);
    options.vocabulary = NANOEMBED_VOCABULARY_AUTO;
    options.activations = 9;
    IS(nanoembed_model_new(&source, &options, &model, NULL), NANOEMBED_INVALID_ARGUMENT);
    options.activations = NANOEMBED_ACTIVATIONS_QUANTIZED;
    OK(nanoembed_model_new(&source, &options, &model, NULL));
    OK(nanoembed_workspace_new(model, &workspace));
    OK(nanoembed_embed_text(model, workspace, text("How do I log in?"), 16, vector, 384, NULL, NULL));
    OK(nanoembed_cosine(vector, lent, 384, &cosine));
    CHECK(cosine > 0.9f);
    nanoembed_workspace_free(workspace);
    nanoembed_model_free(model);
    options.tokens = 1;
    IS(nanoembed_model_new(&source, &options, &model, NULL), NANOEMBED_INVALID_ARGUMENT);

    /* Damaged files, storage that fails. */
    options.tokens = 0;
    OK(nanoembed_source_from_buffer(f->data, 100000, &cut));
    CHECK(nanoembed_model_new(&cut, NULL, &model, &error) >= 101 && error.status < 200);
    OK(nanoembed_source_from_buffer(f->data + 1, 1000, &cut));
    IS(nanoembed_model_new(&cut, NULL, &model, &error), NANOEMBED_BAD_MAGIC);
    f->calls = 0;
    f->fail_after = 3;
    IS(nanoembed_model_new(&stored, NULL, &model, &error), NANOEMBED_READ_FAILED);
    f->fail_after = (size_t)-1;
}

static void word_vectors(file *f, const char *known) {
    nanoembed_source source, stored;
    nanoembed_words_options options;
    nanoembed_words_plan plan, again;
    nanoembed_words *words[3] = {NULL, NULL, NULL};
    nanoembed_error error;
    nanoembed_found found;
    static uint8_t scratch[512];
    uint8_t *memory[2], *search;
    float vectors[3][64], query[64], floats[128];
    nanoembed_scored best[3];
    uint32_t row = 0, skip, rows[3];
    size_t i, count_found, length, n = strlen(known);
    uint8_t word[64];
    OK(nanoembed_source_from_buffer(f->data, f->bytes, &source));
    OK(nanoembed_source_from_callback(read_at, f, f->bytes, &stored));
    memset(&options, 0, sizeof options);
    for (i = 0; i < 2; i++) {
        const nanoembed_source *from = i ? &stored : &source;
        options.indexed = (uint32_t)i;
        f->at_most = 100;
        OK(nanoembed_plan_words(from, &options, scratch, sizeof scratch, &plan, &error));
        CHECK(plan.dimensions <= 64 && plan.words > 0 && plan.analogy_floats <= 128);
        memory[i] = malloc(plan.words_bytes);
        IS(nanoembed_words_init(from, &options, memory[i], plan.words_bytes - 1, scratch, sizeof scratch, &words[i], &error),
           NANOEMBED_BUFFER_TOO_SMALL);
        CHECK(words[i] == NULL);
        OK(nanoembed_words_init(from, &options, memory[i], plan.words_bytes, scratch, sizeof scratch, &words[i], &error));
    }
    f->at_most = (size_t)-1;
    OK(nanoembed_words_new(&source, &options, &words[2], &error));
    for (i = 0; i < 3; i++) {
        memset(vectors[i], 0, sizeof vectors[i]);
        OK(nanoembed_words_find(words[i], text(known), n, &row, &error));
        OK(nanoembed_words_word(words[i], row, word, sizeof word, &length, &error));
        CHECK(length == n && memcmp(word, known, n) == 0);
        OK(nanoembed_words_vector(words[i], text(known), n, floats, plan.vector_floats, vectors[i], plan.dimensions,
                                  &found, &error));
        CHECK(found.row == row && found.subwords == 0);
        OK(nanoembed_words_get_plan(words[i], &again));
        CHECK(again.similar_bytes == plan.similar_bytes && again.dimensions == plan.dimensions);
        search = malloc(plan.similar_bytes);
        skip = row;
        OK(nanoembed_words_similar(words[i], vectors[i], plan.dimensions, NULL, 0, search, plan.similar_bytes, best, 1,
                                   &count_found, &error));
        CHECK(count_found == 1);
        OK(nanoembed_words_similar(words[i], vectors[i], plan.dimensions, &skip, 1, search, plan.similar_bytes, best, 3,
                                   &count_found, &error));
        CHECK(best[0].row != row);
        IS(nanoembed_words_similar(words[i], vectors[i], plan.dimensions, NULL, 0, search, plan.similar_bytes - 1, best, 1,
                                   &count_found, &error), NANOEMBED_BUFFER_TOO_SMALL);
        IS(nanoembed_words_similar(words[i], vectors[i], plan.dimensions - 1, NULL, 0, search, plan.similar_bytes, best, 1,
                                   &count_found, &error), NANOEMBED_INVALID_ARGUMENT);
        OK(nanoembed_words_analogy(words[i], text(known), n, text(known), n, text(known), n, floats, plan.analogy_floats,
                                   query, plan.dimensions, rows, &error));
        CHECK(rows[0] == row && rows[1] == row && rows[2] == row);
        if (plan.vector_floats > 0)
            IS(nanoembed_words_vector(words[i], text(known), n, floats, plan.vector_floats - 1, query, plan.dimensions, NULL,
                                      NULL), NANOEMBED_BUFFER_TOO_SMALL);
        IS(nanoembed_words_vector(words[i], text(known), n, floats, plan.vector_floats, query, plan.dimensions - 1, NULL, NULL),
           NANOEMBED_BUFFER_TOO_SMALL);
        IS(nanoembed_words_find(words[i], text("\x01\x02"), 2, &row, NULL), NANOEMBED_NOT_FOUND);
        IS(nanoembed_words_word(words[i], 0xffffffffu, word, sizeof word, &length, NULL), NANOEMBED_INVALID_ARGUMENT);
        IS(nanoembed_words_word(words[i], row, word, n - 1, &length, NULL), NANOEMBED_BUFFER_TOO_SMALL);
        free(search);
    }
    CHECK(memcmp(vectors[0], vectors[1], sizeof query) == 0 && memcmp(vectors[0], vectors[2], sizeof query) == 0);
    /* A word that the vocabulary lacks, where it has n-grams. */
    if (plan.rows > plan.words) {
        OK(nanoembed_words_vector(words[0], text("unheardof"), 9, floats, plan.vector_floats, query, plan.dimensions, &found,
                                  NULL));
        CHECK(found.row == 0xffffffffu && found.subwords > 0 && found.norm > 0);
        OK(nanoembed_words_vector(words[1], text("unheardof"), 9, floats, plan.vector_floats, vectors[1], plan.dimensions,
                                  NULL, NULL));
        CHECK(memcmp(query, vectors[1], plan.dimensions * sizeof(float)) == 0);
    } else {
        IS(nanoembed_words_vector(words[0], text("unheardof"), 9, floats, plan.vector_floats, query, plan.dimensions, NULL,
                                  NULL), NANOEMBED_NOT_FOUND);
        IS(nanoembed_words_analogy(words[0], text("unheardof"), 9, text(known), n, text(known), n, floats,
                                   plan.analogy_floats, query, plan.dimensions, NULL, NULL), NANOEMBED_NOT_FOUND);
    }
    IS(nanoembed_words_find(NULL, text("a"), 1, &row, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_words_find(words[0], NULL, 1, &row, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_words_get_plan(NULL, &plan), NANOEMBED_BAD_POINTER);
    IS(nanoembed_words_new(&source, &options, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_words_new(NULL, &options, &words[1], NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_plan_words(&source, &options, scratch, 2, &plan, &error), NANOEMBED_BUFFER_TOO_SMALL);
    nanoembed_words_free(words[2]);
    nanoembed_words_free(words[0]);
    nanoembed_words_free(NULL);
    free(memory[0]);
    free(memory[1]);
}

int main(int count_arguments, char **arguments) {
    file model, words, quantized, gguf, uqff;
    if (count_arguments != 6) return 2;
    model = load(arguments[1]);
    words = load(arguments[2]);
    quantized = load(arguments[3]);
    gguf = load(arguments[4]);
    uqff = load(arguments[5]);
    versions_and_statuses();
    sources();
    formats();
    readers(&words, NANOEMBED_FORMAT_FINALFUSION);
    readers(&gguf, NANOEMBED_FORMAT_GGUF);
    readers(&uqff, NANOEMBED_FORMAT_UQFF);
    readers(&uqff, NANOEMBED_FORMAT_SAFETENSORS);
    dequantizing(&gguf, &uqff);
    word_vectors(&words, "and");
    word_vectors(&quantized, "and");
    models(&model);
    free(model.data);
    free(words.data);
    free(quantized.data);
    free(gguf.data);
    free(uqff.data);
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
