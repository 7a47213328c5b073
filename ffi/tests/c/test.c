/* Calls every function of nanoembed.h, with what it should be called with and with what it should not.
 *
 *   test MODEL.weights WORDS.fifu QUANTIZED_WORDS.fifu BLOCKS.gguf UQFF LLAMA.gguf BPE.amb PIECES.model
 */

#include "test.h"

int checks, failures;
unsigned long allocations;

/* Linked with -Wl,--wrap=malloc and so on the allocations of the library are counted; else there are none to see. */
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

file load(const char *path) {
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
int32_t read_at(void *context, uint64_t offset, uint8_t *destination, size_t length, size_t *read) {
    file *f = context;
    size_t there = offset < f->bytes ? f->bytes - (size_t)offset : 0;
    size_t n = length < there ? length : there;
    if (n > f->at_most) n = f->at_most;
    if (f->calls++ >= f->fail_after) return 1;
    memcpy(destination, f->data + offset, n);
    *read = n;
    return 0;
}

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

int main(int count_arguments, char **arguments) {
    file model, words, quantized, gguf, uqff, llama, bpe, model_of_pieces;
    if (count_arguments != 9) return 2;
    model = load(arguments[1]);
    words = load(arguments[2]);
    quantized = load(arguments[3]);
    gguf = load(arguments[4]);
    uqff = load(arguments[5]);
    llama = load(arguments[6]);
    bpe = load(arguments[7]);
    model_of_pieces = load(arguments[8]);
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
    decoders(&llama);
    byte_pairs(&bpe);
    pieces(&model_of_pieces);
    word_pieces(&model);
    free(model.data);
    free(words.data);
    free(quantized.data);
    free(gguf.data);
    free(uqff.data);
    free(llama.data);
    free(bpe.data);
    free(model_of_pieces.data);
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
