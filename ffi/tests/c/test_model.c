/* Sentence models: memory, options, texts, and columns of strings. */

#include "test.h"

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
    size_t scratch_bytes = 0;
    uint8_t *scratch, *memory, *work;
    nanoembed_plan plan = {.size = sizeof plan};
    nanoembed_error error = {.size = sizeof error};
    nanoembed_model *model = NULL;
    nanoembed_workspace *workspace = NULL;
    nanoembed_tokenized tokenized = {.size = sizeof tokenized};
    unsigned long before;
    OK(nanoembed_plan_scratch(source, &scratch_bytes, &error));
    scratch = malloc(scratch_bytes);
    IS(nanoembed_plan_model(source, options, scratch, scratch_bytes - 1, &plan, &error), NANOEMBED_BUFFER_TOO_SMALL);
    CHECK(error.needed == scratch_bytes && error.offset == NANOEMBED_NO_OFFSET);
    IS(nanoembed_plan_scratch(NULL, &scratch_bytes, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_plan_scratch(source, NULL, NULL), NANOEMBED_BAD_POINTER);
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
    OK(nanoembed_embed_text(model, workspace, "How do I log in?", 16, vector, 384, &tokenized, &error));
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

void models(file *f) {
    nanoembed_source source = {.size = sizeof source}, stored = {.size = sizeof stored}, cut = {.size = sizeof cut};
    nanoembed_model_options options = {.size = sizeof options};
    nanoembed_model *model = NULL;
    nanoembed_workspace *workspace = NULL;
    nanoembed_error error = {.size = sizeof error};
    nanoembed_model_info info = {.size = sizeof info};
    nanoembed_tokenized tokenized = {.size = sizeof tokenized};
    nanoembed_strings strings = {.size = sizeof strings};
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
    OK(nanoembed_tokenize(model, "How do I log in?", 16, ids, 16, &tokenized, &error));
    CHECK(tokenized.tokens == 8 && ids[0] == 101 && ids[1] == 2129 && ids[7] == 102);
    OK(nanoembed_embed_ids(model, workspace, ids, 8, vector, 384, &error));
    CHECK(difference(vector, lent, 384) == 0);
    OK(nanoembed_cosine(vector, lent, 384, &cosine));
    CHECK(fabsf(cosine - 1.0f) < 1e-6f);
    OK(nanoembed_tokenize(model, "How do I log in?", 16, ids, 3, &tokenized, &error));
    CHECK(tokenized.tokens == 3 && tokenized.total == 8 && tokenized.truncated && ids[2] == 102);

    /* A column: offset 1 into it, a plain row, an empty one, broken UTF-8, a null, the plain row again, bad offsets. */
    memset(&strings, 0, sizeof strings);
    strings.size = sizeof strings;
    strings.offsets = offsets;
    strings.data = joined;
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
    /* The same with offsets of 64 bits. */
    {
        int64_t large[9];
        for (i = 0; i < 9; i++) large[i] = offsets[i];
        strings.offsets = NULL;
        strings.large_offsets = large;
        memset(status, 9, sizeof status);
        OK(nanoembed_embed_strings(model, workspace, &strings, rows, 6 * 384, status, 6, &error));
        CHECK(status[0] == NANOEMBED_ROW_OK && status[3] == NANOEMBED_ROW_NULL && status[5] == NANOEMBED_ROW_BAD_OFFSETS);
        CHECK(difference(rows + 4 * 384, lent, 384) < 1e-6f);
        strings.offsets = offsets;
    }
    strings.length = 0;
    OK(nanoembed_embed_strings(model, workspace, &strings, NULL, 0, NULL, 0, NULL));

    /* Long texts are cut, also in a column. */
    {
        char many[400];
        int32_t places[] = {0, 399, 399};
        for (i = 0; i < 399; i++) many[i] = i % 2 ? ' ' : 'a';
        OK(nanoembed_embed_text(model, workspace, many, 399, vector, 384, &tokenized, &error));
        CHECK(tokenized.tokens == 32 && tokenized.total == 202 && tokenized.truncated);
        memset(&strings, 0, sizeof strings);
    strings.size = sizeof strings;
        strings.offsets = places;
        strings.data = many;
        strings.data_bytes = 399;
        strings.length = 2;
        OK(nanoembed_embed_strings(model, workspace, &strings, rows, 2 * 384, status, 2, &error));
        CHECK(status[0] == NANOEMBED_ROW_TRUNCATED && status[1] == NANOEMBED_ROW_OK);
        CHECK(difference(rows, vector, 384) < 1e-6f);
    }

    /* Wrong calls; nothing is written. */
    memcpy(untouched, vector, sizeof vector);
    IS(nanoembed_embed_text(model, workspace, "a\xff", 2, vector, 384, NULL, &error), NANOEMBED_INVALID_UTF8);
    CHECK(error.offset == 1);
    IS(nanoembed_embed_text(model, workspace, "a", 1, vector, 383, NULL, &error), NANOEMBED_BUFFER_TOO_SMALL);
    CHECK(error.needed == 384);
    IS(nanoembed_embed_text(model, workspace, NULL, 2, vector, 384, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_embed_text(NULL, workspace, "a", 1, vector, 384, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_embed_text(model, NULL, "a", 1, vector, 384, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_embed_text(model, workspace, "a", 1, vector, 383, NULL, NULL), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_embed_ids(model, workspace, ids, 0, vector, 384, NULL), NANOEMBED_INVALID_ARGUMENT);
    IS(nanoembed_embed_ids(model, workspace, &too_large, 1, vector, 384, NULL), NANOEMBED_TOKEN_OUT_OF_RANGE);
    IS(nanoembed_embed_ids(model, workspace, NULL, 1, vector, 384, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_embed_ids(model, workspace, ids, 3, NULL, 384, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenize(model, "a", 1, ids, 1, &tokenized, NULL), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_tokenize(model, "a", 1, ids, 9, NULL, NULL), NANOEMBED_BAD_POINTER);
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
    IS(nanoembed_embed_text(model, workspace, "a", 1, vector, 384, NULL, NULL), NANOEMBED_MISSING_VOCABULARY);
    OK(nanoembed_embed_ids(model, workspace, ids, 3, vector, 384, NULL));
    nanoembed_workspace_free(workspace);
    nanoembed_model_free(model);
    options.vocabulary = 9;
    IS(nanoembed_model_new(&source, &options, &model, &error), NANOEMBED_INVALID_ARGUMENT);
    CHECK(strcmp(error.name, "vocabulary") == 0);
    options.vocabulary = NANOEMBED_VOCABULARY_INDEXED;
    IS(nanoembed_model_new(&stored, &options, &model, NULL), NANOEMBED_INDEX_REQUIRED);
    options.vocabulary = NANOEMBED_VOCABULARY_AUTO;
    options.activations = 9;
    IS(nanoembed_model_new(&source, &options, &model, NULL), NANOEMBED_INVALID_ARGUMENT);
    options.activations = NANOEMBED_ACTIVATIONS_QUANTIZED;
    OK(nanoembed_model_new(&source, &options, &model, NULL));
    OK(nanoembed_workspace_new(model, &workspace));
    OK(nanoembed_embed_text(model, workspace, "How do I log in?", 16, vector, 384, NULL, NULL));
    OK(nanoembed_cosine(vector, lent, 384, &cosine));
    CHECK(cosine > 0.9f);
    nanoembed_workspace_free(workspace);
    nanoembed_model_free(model);
    options.activations = NANOEMBED_ACTIVATIONS_FIXED;
    options.block_tokens = 3;
    lent_model(&source, &options, vector);
    lent_model(&stored, &options, from_storage);
    CHECK(difference(vector, from_storage, 384) == 0);
    OK(nanoembed_cosine(vector, lent, 384, &cosine));
    CHECK(cosine > 0.99f);
    options.tokens = 1;
    IS(nanoembed_model_new(&source, &options, &model, NULL), NANOEMBED_INVALID_ARGUMENT);
    options.tokens = 100000;
    IS(nanoembed_model_new(&source, &options, &model, &error), NANOEMBED_INVALID_ARGUMENT);
    CHECK(strcmp(error.name, "tokens") == 0);

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

/* A static model of 48 dimensions: by the index in the file and by one in memory, the same bits. */
void static_models(file *f) {
    nanoembed_source source = {.size = sizeof source}, stored = {.size = sizeof stored};
    nanoembed_model_options options = {.size = sizeof options};
    nanoembed_plan plan = {.size = sizeof plan};
    nanoembed_error error = {.size = sizeof error};
    nanoembed_model_info info = {.size = sizeof info};
    nanoembed_tokenized tokenized = {.size = sizeof tokenized};
    nanoembed_strings strings = {.size = sizeof strings};
    nanoembed_model *model = NULL;
    nanoembed_workspace *workspace = NULL;
    float vectors[2][48], rows[2 * 48], length = 0;
    uint32_t ids[32], unknown = 1u << 20;
    int32_t offsets[] = {0, 12, 12};
    uint8_t status[2];
    size_t scratch_bytes = 0, i;
    unsigned long before;
    OK(nanoembed_source_from_buffer(f->data, f->bytes, &source));
    OK(nanoembed_source_from_callback(read_at, f, f->bytes, &stored));
    OK(nanoembed_plan_scratch(&source, &scratch_bytes, &error));
    for (i = 0; i < 2; i++) {
        uint8_t *scratch = malloc(scratch_bytes), *memory, *work;
        options.vocabulary = i ? NANOEMBED_VOCABULARY_INDEXED : NANOEMBED_VOCABULARY_IN_FILE;
        OK(nanoembed_plan_model(&source, &options, scratch, scratch_bytes, &plan, &error));
        CHECK(plan.dimensions == 48 && plan.tokens == 512);
        memory = malloc(plan.model_bytes);
        work = malloc(plan.workspace_bytes);
        before = allocations;
        IS(nanoembed_model_init(&source, &options, memory, plan.model_bytes - 1, scratch, scratch_bytes, &model, &error),
           NANOEMBED_BUFFER_TOO_SMALL);
        CHECK(error.needed == plan.model_bytes);
        OK(nanoembed_model_init(&source, &options, memory, plan.model_bytes, scratch, scratch_bytes, &model, &error));
        CHECK(nanoembed_workspace_bytes(model) == plan.workspace_bytes);
        OK(nanoembed_workspace_init(model, work, plan.workspace_bytes, &workspace));
        OK(nanoembed_embed_text(model, workspace, "a small text", 12, vectors[i], 48, &tokenized, &error));
        CHECK(tokenized.tokens > 2 && !tokenized.truncated);
        OK(nanoembed_tokenize(model, "a small text", 12, ids, 32, &tokenized, &error));
        OK(nanoembed_embed_ids(model, workspace, ids, tokenized.tokens, rows, 48, &error));
        CHECK(memcmp(rows, vectors[i], sizeof vectors[i]) == 0);
        IS(nanoembed_embed_ids(model, workspace, &unknown, 1, rows, 48, &error), NANOEMBED_TOKEN_OUT_OF_RANGE);
        OK(nanoembed_model_get_info(model, &info));
        CHECK(info.dimensions == 48 && info.layers == 0 && info.has_tokenizer == 1 && info.vocabulary == 900);
        strings.offsets = offsets;
        strings.data = "a small text";
        strings.data_bytes = 12;
        strings.length = 2;
        OK(nanoembed_embed_strings(model, workspace, &strings, rows, 2 * 48, status, 2, &error));
        CHECK(status[0] == NANOEMBED_ROW_OK && status[1] == NANOEMBED_ROW_OK && rows[48] == 0);
        CHECK(memcmp(rows, vectors[i], sizeof vectors[i]) == 0);
        CHECK(allocations == before);
        free(work);
        free(memory);
        free(scratch);
    }
    CHECK(memcmp(vectors[0], vectors[1], sizeof vectors[0]) == 0);
    for (i = 0; i < 48; i++) length += vectors[0][i] * vectors[0][i];
    CHECK(fabsf(length - 1) < 1e-5f);
    options.tokens = 2;
    OK(nanoembed_model_new(&source, &options, &model, &error));
    OK(nanoembed_workspace_new(model, &workspace));
    OK(nanoembed_embed_text(model, workspace, "a small text", 12, rows, 48, &tokenized, &error));
    CHECK(tokenized.tokens == 2 && tokenized.truncated);
    nanoembed_workspace_free(workspace);
    nanoembed_model_free(model);
    options.activations = NANOEMBED_ACTIVATIONS_FIXED;
    IS(nanoembed_model_new(&source, &options, &model, &error), NANOEMBED_INVALID_ARGUMENT);
    CHECK(strcmp(error.name, "activations") == 0);
    /* Not from storage yet. */
    options.activations = NANOEMBED_ACTIVATIONS_AUTO;
    IS(nanoembed_model_new(&stored, &options, &model, &error), NANOEMBED_NEEDS_MEMORY);
}
