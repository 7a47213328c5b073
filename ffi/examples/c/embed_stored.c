/* Embeds the lines of a text by a model that is never in memory: its file is read tile by tile through a callback, as
 * firmware would read an SD card.
 *
 *   embed_stored MODEL.weights TEXTS OUT.f32 TOKENS auto|float|fixed BLOCK_TOKENS
 */

#include <nanoembed.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t bytes_read;

static int32_t read_at(void *context, uint64_t offset, uint8_t *destination, size_t length, size_t *read) {
    FILE *file = context;
    if (fseek(file, (long)offset, SEEK_SET) != 0) return 1;
    *read = fread(destination, 1, length, file);
    bytes_read += *read;
    return ferror(file);
}

static int fail(const char *what, nanoembed_status status, const nanoembed_error *error) {
    char text[160] = "";
    if (error && error->status == status) nanoembed_error_describe(error, text, sizeof text);
    fprintf(stderr, "%s: %s\n", what, text[0] ? text : nanoembed_status_message(status));
    return 1;
}

int main(int count, char **arguments) {
    nanoembed_source source = {.size = sizeof source};
    nanoembed_model_options options = {.size = sizeof options};
    nanoembed_plan plan = {.size = sizeof plan};
    nanoembed_model *model;
    nanoembed_workspace *workspace;
    nanoembed_error error = {.size = sizeof error};
    nanoembed_status status;
    FILE *file, *texts, *out;
    char line[4096];
    float *vector;
    uint8_t *scratch, *model_memory, *workspace_memory;
    size_t scratch_bytes = 0;
    if (count != 7)
        return fprintf(stderr, "usage: %s MODEL.weights TEXTS OUT.f32 TOKENS auto|float|fixed BLOCK_TOKENS\n", arguments[0]), 2;
    file = fopen(arguments[1], "rb");
    texts = fopen(arguments[2], "rb");
    out = fopen(arguments[3], "wb");
    if (!file || !texts || !out) return perror(arguments[!file ? 1 : !texts ? 2 : 3]), 1;
    fseek(file, 0, SEEK_END);

    status = nanoembed_source_from_callback(read_at, file, (uint64_t)ftell(file), &source);
    if (status) return fail("source", status, NULL);
    options.tokens = (uint32_t)atoi(arguments[4]);
    options.block_tokens = (uint32_t)atoi(arguments[6]);
    options.vocabulary = NANOEMBED_VOCABULARY_IN_FILE;
    if (strcmp(arguments[5], "float") == 0) options.activations = NANOEMBED_ACTIVATIONS_FLOAT;
    if (strcmp(arguments[5], "fixed") == 0) options.activations = NANOEMBED_ACTIVATIONS_FIXED;

    /* How much memory, to the byte; then exactly that. */
    status = nanoembed_plan_scratch(&source, &scratch_bytes, &error);
    if (status) return fail("plan", status, &error);
    scratch = malloc(scratch_bytes);
    status = nanoembed_plan_model(&source, &options, scratch, scratch_bytes, &plan, &error);
    if (status) return fail("plan", status, &error);
    fprintf(stderr, "model %lu bytes, workspace %lu bytes\n", (unsigned long)plan.model_bytes,
            (unsigned long)plan.workspace_bytes);
    model_memory = malloc(plan.model_bytes);
    workspace_memory = malloc(plan.workspace_bytes);
    vector = malloc(plan.dimensions * sizeof *vector);
    status = nanoembed_model_init(&source, &options, model_memory, plan.model_bytes, scratch, scratch_bytes, &model,
                                  &error);
    if (status) return fail("open", status, &error);
    status = nanoembed_workspace_init(model, workspace_memory, plan.workspace_bytes, &workspace);
    if (status) return fail("workspace", status, NULL);
    free(scratch);

    while (fgets(line, sizeof line, texts)) {
        size_t length = strcspn(line, "\n");
        if (length == 0) continue;
        status = nanoembed_embed_text(model, workspace, line, length, vector, plan.dimensions, NULL,
                                      &error);
        if (status) return fail("embed", status, &error);
        fwrite(vector, sizeof *vector, plan.dimensions, out);
    }
    fprintf(stderr, "%lu bytes read\n", (unsigned long)bytes_read);
    free(vector);
    free(workspace_memory);
    free(model_memory);
    status = ferror(texts) || ferror(out) || fclose(out);
    if (status) perror(arguments[ferror(texts) ? 2 : 3]);
    fclose(texts);
    fclose(file);
    return status != 0;
}
