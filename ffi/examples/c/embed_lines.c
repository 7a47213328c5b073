/* Embeds the lines of a text, into a file of floats:   embed_lines MODEL TEXTS OUT.f32 */

#include <nanoembed.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, nanoembed_status status, const nanoembed_error *error) {
    char why[200] = "";
    if (status == NANOEMBED_CANNOT_OPEN && errno) return perror(what), 1;
    if (error->status == status) nanoembed_error_describe(error, why, sizeof why);
    fprintf(stderr, "%s: %s\n", what, why[0] ? why : nanoembed_status_message(status));
    return 1;
}

int main(int count, char **arguments) {
    nanoembed_model_info info = {.size = sizeof info};
    nanoembed_error error = {.size = sizeof error};
    nanoembed_model *model = NULL;
    nanoembed_workspace *workspace = NULL;
    nanoembed_status status;
    FILE *texts, *out;
    char line[4096];
    float *vector;
    if (count != 4) return fprintf(stderr, "usage: %s MODEL TEXTS OUT.f32\n", arguments[0]), 2;
    texts = fopen(arguments[2], "rb");
    out = fopen(arguments[3], "wb");
    if (!texts || !out) return perror(texts ? arguments[3] : arguments[2]), 1;
    status = nanoembed_model_open(arguments[1], NULL, &model, &error);
    if (!status) status = nanoembed_model_get_info(model, &info);
    if (!status) status = nanoembed_workspace_new(model, &workspace);
    if (status) return fail(arguments[1], status, &error);
    vector = calloc(info.dimensions, sizeof *vector);
    while (vector && fgets(line, sizeof line, texts)) {
        size_t length = strcspn(line, "\n");
        if (length == sizeof line - 1) return fprintf(stderr, "%.40s…: the line is too long\n", line), 1;
        status = nanoembed_embed_text(model, workspace, line, length, vector, info.dimensions, NULL, &error);
        if (status) return fail(line, status, &error);
        fwrite(vector, sizeof *vector, info.dimensions, out);
    }
    status = !vector || ferror(texts) || ferror(out) || fclose(out);
    if (status) perror(arguments[ferror(texts) ? 2 : 3]);
    free(vector);
    nanoembed_workspace_free(workspace);
    nanoembed_model_free(model);
    fclose(texts);
    return status != 0;
}
