/* Embeds the lines of a text by a model of any kind, into a file of floats.
 *
 *   embed_lines MODEL TEXTS OUT.f32
 */

#include <nanoembed.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, nanoembed_status status, const nanoembed_error *error) {
    char why[200] = "";
    if (error->status == status) nanoembed_error_describe(error, why, sizeof why);
    fprintf(stderr, "%s: %s\n", what, why[0] ? why : nanoembed_status_message(status));
    return 1;
}

int main(int count, char **arguments) {
    nanoembed_source source = {.size = sizeof source};
    nanoembed_model_info info = {.size = sizeof info};
    nanoembed_error error = {.size = sizeof error};
    nanoembed_model *model = NULL;
    nanoembed_workspace *workspace = NULL;
    nanoembed_status status;
    FILE *texts, *out;
    char line[4096];
    float *vector;
    if (count != 4) return 2;
    texts = fopen(arguments[2], "rb");
    out = fopen(arguments[3], "wb");
    if (!texts || !out) return perror(texts ? arguments[3] : arguments[2]), 1;
    status = nanoembed_source_from_file(arguments[1], &source);
    if (!status) status = nanoembed_model_new(&source, NULL, &model, &error);
    if (!status) status = nanoembed_model_get_info(model, &info);
    if (!status) status = nanoembed_workspace_new(model, &workspace);
    if (status) return fail(arguments[1], status, &error);
    vector = malloc(info.dimensions * sizeof *vector);
    while (fgets(line, sizeof line, texts)) {
        size_t length = strcspn(line, "\n");
        status = nanoembed_embed_text(model, workspace, line, length, vector, info.dimensions, NULL, &error);
        if (status) return fail(line, status, &error);
        fwrite(vector, sizeof *vector, info.dimensions, out);
    }
    free(vector);
    nanoembed_workspace_free(workspace);
    nanoembed_model_free(model);
    nanoembed_source_close(&source);
    fclose(texts);
    return fclose(out) != 0;
}
