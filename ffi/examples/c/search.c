/* Finds the lines of a text that are nearest in meaning to a query.
 *
 *   search MODEL.weights TEXTS QUERY
 */

#include <nanoembed.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *load(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    uint8_t *data;
    if (!file) {
        perror(path);
        return NULL;
    }
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    data = malloc(*bytes + 1);
    if (data && fread(data, 1, *bytes, file) != *bytes) {
        free(data);
        data = NULL;
    }
    if (!data) fprintf(stderr, "%s: cannot be read\n", path);
    fclose(file);
    return data;
}

/* Moves lines together, without their ends and the blanks before them, and writes where each begins and the last ends. Returns
 * how many there are: blank ones are left out, and the last needs no end. */
static size_t pack_lines(uint8_t *text, size_t bytes, int32_t *offsets) {
    size_t i, to = 0, begin = 0, lines = 0;
    offsets[0] = 0;
    for (i = 0; i <= bytes; i++) {
        int is_end = i == bytes || text[i] == '\n';
        if (!is_end && (to > begin || !isspace(text[i]))) text[to++] = text[i];
        if (is_end && to > begin) {
            offsets[++lines] = (int32_t)to;
            begin = to;
        }
    }
    return lines;
}

int main(int count, char **arguments) {
    size_t model_bytes, text_bytes, lines = 1, i, best;
    uint8_t *file, *text, *status_of_line;
    int32_t *offsets;
    nanoembed_source source;
    nanoembed_model *model;
    nanoembed_workspace *workspace;
    nanoembed_model_info info;
    nanoembed_strings strings;
    nanoembed_error error;
    nanoembed_status status;
    float *vectors, *query;
    char why[160];
    if (count != 4) return 2;
    file = load(arguments[1], &model_bytes);
    text = load(arguments[2], &text_bytes);
    if (!file || !text) return 2;

    nanoembed_source_from_buffer(file, model_bytes, &source);
    status = nanoembed_model_new(&source, NULL, &model, &error);
    if (status) {
        nanoembed_error_describe(&error, why, sizeof why);
        fprintf(stderr, "%s: %s\n", arguments[1], why);
        return 1;
    }
    nanoembed_workspace_new(model, &workspace);
    nanoembed_model_get_info(model, &info);

    /* A column of strings: where each line begins. */
    for (i = 0; i < text_bytes; i++) lines += text[i] == '\n';
    offsets = malloc((lines + 1) * sizeof *offsets);
    lines = pack_lines(text, text_bytes, offsets);
    memset(&strings, 0, sizeof strings);
    strings.offsets = offsets;
    strings.data = text;
    strings.data_bytes = (size_t)offsets[lines];
    strings.length = lines;

    vectors = malloc((lines + 1) * info.dimensions * sizeof *vectors);
    query = vectors + lines * info.dimensions;
    status_of_line = malloc(lines + 1);
    status = nanoembed_embed_strings(model, workspace, &strings, vectors, lines * info.dimensions, status_of_line, lines,
                                     &error);
    if (!status)
        status = nanoembed_embed_text(model, workspace, (const uint8_t *)arguments[3], strlen(arguments[3]), query,
                                      info.dimensions, NULL, &error);
    if (status) {
        fprintf(stderr, "%s\n", nanoembed_status_message(status));
        return 1;
    }
    for (best = 0; best < 3 && best < lines; best++) {
        float highest = -2, cosine;
        size_t at = 0;
        for (i = 0; i < lines; i++) {
            if (status_of_line[i] == 255) continue;
            nanoembed_cosine(vectors + i * info.dimensions, query, info.dimensions, &cosine);
            if (cosine > highest) {
                highest = cosine;
                at = i;
            }
        }
        status_of_line[at] = 255;
        printf("%.3f %.*s\n", highest, (int)(offsets[at + 1] - offsets[at]), (const char *)text + offsets[at]);
    }
    nanoembed_workspace_free(workspace);
    nanoembed_model_free(model);
    free(status_of_line);
    free(vectors);
    free(offsets);
    free(text);
    free(file);
    return 0;
}
