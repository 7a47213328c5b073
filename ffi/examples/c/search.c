/* Finds the lines of a text that are nearest in meaning to a query.
 *
 *   search MODEL TEXTS QUERY
 */

#include <nanoembed.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file's text, with its length. */
static char *load(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    char *data;
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

static int fail(const char *what, nanoembed_status status, const nanoembed_error *error) {
    char why[200] = "";
    if (status == NANOEMBED_CANNOT_OPEN && errno) return perror(what), 1;
    if (error->status == status) nanoembed_error_describe(error, why, sizeof why);
    fprintf(stderr, "%s: %s\n", what, why[0] ? why : nanoembed_status_message(status));
    return 1;
}

/* Moves lines together, without their ends and the blanks before them, and writes where each begins and the last ends. Returns
 * how many there are: blank ones are left out, and the last needs no end. */
static size_t pack_lines(char *text, size_t bytes, int32_t *offsets) {
    size_t i, to = 0, begin = 0, lines = 0;
    offsets[0] = 0;
    for (i = 0; i <= bytes; i++) {
        int is_end = i == bytes || text[i] == '\n';
        if (!is_end && (to > begin || !isspace((unsigned char)text[i]))) text[to++] = text[i];
        if (is_end && to > begin) {
            offsets[++lines] = (int32_t)to;
            begin = to;
        }
    }
    return lines;
}

int main(int count, char **arguments) {
    size_t text_bytes, lines = 1, i, found;
    char *text;
    uint8_t *status_of_line;
    int32_t *offsets;
    nanoembed_model *model = NULL;
    nanoembed_workspace *workspace = NULL;
    nanoembed_model_info info = {.size = sizeof info};
    nanoembed_strings strings = {.size = sizeof strings};
    nanoembed_error error = {.size = sizeof error};
    nanoembed_status status;
    nanoembed_scored best[3];
    float *vectors, *query;
    if (count != 4) return fprintf(stderr, "usage: %s MODEL TEXTS QUERY\n", arguments[0]), 2;
    text = load(arguments[2], &text_bytes);
    if (!text) return 1;

    status = nanoembed_model_open(arguments[1], NULL, &model, &error);
    if (!status) status = nanoembed_workspace_new(model, &workspace);
    if (!status) status = nanoembed_model_get_info(model, &info);
    if (status) return fail(arguments[1], status, &error);

    /* A column of strings: where each line begins. */
    for (i = 0; i < text_bytes; i++) lines += text[i] == '\n';
    offsets = malloc((lines + 1) * sizeof *offsets);
    if (!offsets) return perror("memory"), 1;
    lines = pack_lines(text, text_bytes, offsets);
    strings.offsets = offsets;
    strings.data = text;
    strings.data_bytes = (size_t)offsets[lines];
    strings.length = lines;

    vectors = malloc((lines + 1) * info.dimensions * sizeof *vectors);
    status_of_line = malloc(lines + 1);
    if (!vectors || !status_of_line) return perror("memory"), 1;
    query = vectors + lines * info.dimensions;
    status = nanoembed_embed_strings(model, workspace, &strings, vectors, lines * info.dimensions, status_of_line, lines,
                                     &error);
    if (!status)
        status = nanoembed_embed_text(model, workspace, arguments[3], strlen(arguments[3]), query, info.dimensions, NULL,
                                      &error);
    /* Vectors of length 1: the dot product is the cosine. */
    if (!status) status = nanoembed_top_k(query, info.dimensions, vectors, lines, best, 3, &found);
    if (status) return fail("embed", status, &error);
    for (i = 0; i < found; i++) {
        const int32_t *line = offsets + best[i].row;
        printf("%.3f %.*s\n", best[i].score, (int)(line[1] - line[0]), text + line[0]);
    }
    nanoembed_workspace_free(workspace);
    nanoembed_model_free(model);
    free(status_of_line);
    free(vectors);
    free(offsets);
    free(text);
    return 0;
}
