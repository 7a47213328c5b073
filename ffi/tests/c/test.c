/* Calls every function of nanoembed.h, with what it should be called with and with what it should not.
 *
 *   test MODEL.weights WORDS.fifu QUANTIZED_WORDS.fifu BLOCKS.gguf UQFF LLAMA.gguf BPE.amb PIECES.model TABLE.weights
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
    char buffer[128];
    nanoembed_error error = {.size = sizeof error};
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
    error.offset = NANOEMBED_NO_OFFSET;
    memcpy(error.name, "tokens", 7);
    OK(nanoembed_error_describe(&error, buffer, sizeof buffer));
    CHECK(strstr(buffer, "byte") == NULL && strstr(buffer, "number: tokens") != NULL);
    error.size = 8;
    IS(nanoembed_error_describe(&error, buffer, sizeof buffer), NANOEMBED_INVALID_ARGUMENT);
    error.size = sizeof error;
    IS(nanoembed_error_describe(&error, buffer, 0), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_error_describe(NULL, buffer, 8), NANOEMBED_BAD_POINTER);
    IS(nanoembed_error_describe(&error, NULL, 8), NANOEMBED_BAD_POINTER);
}

/* A struct of a program that was compiled with another version. */
static void sizes_of_structs(void) {
    struct {
        nanoembed_source known;
        uint64_t later;
    } newer;
    nanoembed_source older = {.size = 4};
    nanoembed_tokenizer_plan plan = {.size = sizeof plan};
    uint8_t byte = 0;
    memset(&newer, 0, sizeof newer);
    newer.known.size = sizeof newer;
    OK(nanoembed_source_from_buffer(&byte, 1, &newer.known));
    CHECK(newer.known.size == sizeof newer);
    /* What the library does not know may say nothing. */
    IS(nanoembed_plan_tokenizer(&newer.known, &plan, NULL), NANOEMBED_UNKNOWN_FORMAT);
    newer.later = 1;
    IS(nanoembed_plan_tokenizer(&newer.known, &plan, NULL), NANOEMBED_INVALID_ARGUMENT);
    IS(nanoembed_source_from_buffer(&byte, 1, &older), NANOEMBED_INVALID_ARGUMENT);
    CHECK(older.data == NULL);
    /* Offsets and sizes are part of the interface; numbers of a machine with pointers of 8 bytes and of one with 4. */
    {
        const int is_64 = sizeof(void *) == 8;
        CHECK(sizeof(nanoembed_error) == 88 && offsetof(nanoembed_error, name) == 24);
        CHECK(sizeof(nanoembed_source) == (is_64 ? 40u : 24u) && offsetof(nanoembed_source, length) == (is_64 ? 16u : 8u));
        CHECK(sizeof(nanoembed_model_options) == (is_64 ? 40u : 32u) && sizeof(nanoembed_model_info) == 44);
        CHECK(offsetof(nanoembed_model_options, allow_unknown) == 24);
        CHECK(sizeof(nanoembed_plan) == (is_64 ? 40u : 28u));
        CHECK(sizeof(nanoembed_words_options) == 24 && sizeof(nanoembed_words_plan) == (is_64 ? 56u : 40u));
        CHECK(sizeof(nanoembed_decoder_options) == 12 && sizeof(nanoembed_decoder_plan) == (is_64 ? 48u : 32u));
        CHECK(sizeof(nanoembed_sampling) == 24 && sizeof(nanoembed_reader_options) == 16);
        CHECK(sizeof(nanoembed_tokenizer_plan) == (is_64 ? 16u : 8u) && sizeof(nanoembed_tokenizer_info) == 20);
        CHECK(sizeof(nanoembed_tokenized) == 16 && sizeof(nanoembed_found) == 16 && sizeof(nanoembed_tensor) == 88);
        CHECK(sizeof(nanoembed_strings) == (is_64 ? 64u : 32u) && sizeof(nanoembed_event) == (is_64 ? 176u : 160u));
    }
}

static void top(void) {
    const float query[2] = {1, 0}, rows[6] = {0, 1, 3, 0, 2, 5};
    nanoembed_scored best[4];
    size_t found = 0;
    OK(nanoembed_top_k(query, 2, rows, 3, best, 2, &found));
    CHECK(found == 2 && best[0].row == 1 && best[0].score == 3 && best[1].row == 2);
    OK(nanoembed_top_k(query, 2, rows, 3, best, 4, &found));
    CHECK(found == 3 && best[2].row == 0);
    IS(nanoembed_top_k(query, 0, rows, 3, best, 4, &found), NANOEMBED_INVALID_ARGUMENT);
    IS(nanoembed_top_k(NULL, 2, rows, 3, best, 4, &found), NANOEMBED_BAD_POINTER);
    IS(nanoembed_top_k(query, 2, rows, 3, best, 4, NULL), NANOEMBED_BAD_POINTER);
}

static int32_t progressed(void *context, uint64_t done, uint64_t bytes) {
    uint64_t *last = context;
    CHECK(done >= *last && done <= bytes);
    *last = done;
    return bytes == 7;
}

/* Whether bytes are those that were written, from memory and storage, and after one has changed. */
static void verifying(file *f, const char *path) {
    nanoembed_source source = {.size = sizeof source}, stored = {.size = sizeof stored};
    nanoembed_error error = {.size = sizeof error};
    size_t bytes = nanoembed_verify_bytes();
    uint8_t *memory = malloc(bytes);
    uint32_t has_checksum = 9;
    uint64_t last = 0;
    unsigned long before = allocations;
    OK(nanoembed_source_from_buffer(f->data, f->bytes, &source));
    OK(nanoembed_source_from_callback(read_at, f, f->bytes, &stored));
    OK(nanoembed_verify(&source, memory, bytes, progressed, &last, &has_checksum, &error));
    CHECK(has_checksum == 1 && last == f->bytes);
    f->at_most = 60000;
    OK(nanoembed_verify(&stored, memory, bytes, NULL, NULL, NULL, &error));
    f->data[f->bytes - 5000] ^= 1;
    IS(nanoembed_verify(&stored, memory, bytes, NULL, NULL, NULL, &error), NANOEMBED_DATA_CHECKSUM);
    f->data[f->bytes - 5000] ^= 1;
    f->at_most = (size_t)-1;
    CHECK(allocations == before);
    IS(nanoembed_verify(&source, memory, bytes - 1, NULL, NULL, NULL, &error), NANOEMBED_BUFFER_TOO_SMALL);
    CHECK(error.needed == bytes);
    IS(nanoembed_verify(&source, NULL, bytes, NULL, NULL, NULL, &error), NANOEMBED_BAD_POINTER);
    free(memory);
    /* The same file, mapped. */
    OK(nanoembed_source_from_file(path, &source));
    CHECK(source.length == f->bytes && memcmp(source.data, f->data, f->bytes) == 0);
    nanoembed_source_close(&source);
    CHECK(source.data == NULL);
    nanoembed_source_close(&source);
    nanoembed_source_close(NULL);
    IS(nanoembed_source_from_file("no/such/file", &source), NANOEMBED_CANNOT_OPEN);
    IS(nanoembed_source_from_file(NULL, &source), NANOEMBED_BAD_POINTER);
}

static void sources(void) {
    nanoembed_source source = {.size = sizeof source};
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
    file model, words, quantized, gguf, uqff, llama, bpe, model_of_pieces, table;
    if (count_arguments != 10) return 2;
    model = load(arguments[1]);
    words = load(arguments[2]);
    quantized = load(arguments[3]);
    gguf = load(arguments[4]);
    uqff = load(arguments[5]);
    llama = load(arguments[6]);
    bpe = load(arguments[7]);
    model_of_pieces = load(arguments[8]);
    table = load(arguments[9]);
    versions_and_statuses();
    sources();
    sizes_of_structs();
    top();
    formats();
    readers(&words, NANOEMBED_FORMAT_FINALFUSION);
    readers(&gguf, NANOEMBED_FORMAT_GGUF);
    readers(&uqff, NANOEMBED_FORMAT_UQFF);
    readers(&uqff, NANOEMBED_FORMAT_SAFETENSORS);
    dequantizing(&gguf, &uqff);
    word_vectors(&words, "and");
    word_vectors(&quantized, "and");
    models(&model);
    verifying(&model, arguments[1]);
    static_models(&table);
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
    free(table.data);
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
