/* Formats, readers, and dequantising. */

#include "test.h"

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
    nanoembed_error error = {.size = sizeof error};
    nanoembed_event event = {.size = sizeof event};
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

void readers(file *f, nanoembed_format format) {
    nanoembed_reader_options options = {.size = sizeof options};
    nanoembed_source buffer = {.size = sizeof buffer}, stored = {.size = sizeof stored};
    digest one, other, pushed;
    size_t at, bytes = nanoembed_reader_bytes() + 8192;
    uint8_t *memory = malloc(bytes);
    nanoembed_reader *reader = NULL;
    nanoembed_error error = {.size = sizeof error};
    nanoembed_event event = {.size = sizeof event};
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

void formats(void) {
    CHECK(nanoembed_sniff(NULL, 9) == NANOEMBED_FORMAT_UNKNOWN);
    CHECK(nanoembed_sniff((const uint8_t *)"nonsense!", 9) == NANOEMBED_FORMAT_UNKNOWN);
    CHECK(strcmp(nanoembed_format_name(NANOEMBED_FORMAT_UQFF), "uqff") == 0);
    CHECK(strcmp(nanoembed_format_name(1000), "unknown") == 0);
    CHECK(strcmp(nanoembed_dtype_name(2), "f32") == 0);
    CHECK(strcmp(nanoembed_dtype_name(0), "unknown") == 0);
    CHECK(strcmp(nanoembed_dtype_name(28), "q8_k") == 0);
    CHECK(strcmp(nanoembed_dtype_name(200), "unknown") == 0);
}

void dequantizing(file *gguf, file *uqff) {
    nanoembed_reader_options options = {.size = sizeof options};
    nanoembed_source buffer = {.size = sizeof buffer}, stored = {.size = sizeof stored};
    nanoembed_reader *reader = NULL;
    nanoembed_event event = {.size = sizeof event};
    size_t bytes = nanoembed_reader_bytes() + 8192, seen = 0;
    uint8_t *memory = malloc(bytes);
    uint8_t tile[300];
    static float a[512], b[512];
    uint64_t elements = 0;
    uint8_t half[4] = {0x00, 0x3c, 0x00, 0xc0};
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
    OK(nanoembed_uqff_dequantize(uqff->data, uqff->bytes, "0", 1, 0, memory, bytes, NULL, 0, &elements, NULL));
    CHECK(elements > 4);
    OK(nanoembed_uqff_dequantize(uqff->data, uqff->bytes, "0", 1, 1, memory, bytes, a, 3, NULL, NULL));
    CHECK(isfinite(a[0]) && isfinite(a[1]) && isfinite(a[2]));
    IS(nanoembed_uqff_dequantize(uqff->data, uqff->bytes, "?", 1, 0, memory, bytes, a, 1, NULL, NULL),
       NANOEMBED_NOT_FOUND);
    IS(nanoembed_uqff_dequantize(NULL, 9, "0", 1, 0, memory, bytes, a, 1, NULL, NULL), NANOEMBED_BAD_POINTER);
    free(memory);
}
