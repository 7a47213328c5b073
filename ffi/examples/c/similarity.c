/* How near two texts are in meaning:   similarity MODEL TEXT TEXT */

#include <nanoembed.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int fail(const char *what, nanoembed_status status, const nanoembed_error *error) {
    char why[200] = "";
    if (status == NANOEMBED_CANNOT_OPEN && errno) return perror(what), 1;
    if (error->status == status) nanoembed_error_describe(error, why, sizeof why); /* byte 4: …: the key at fault */
    fprintf(stderr, "%s: %s\n", what, why[0] ? why : nanoembed_status_message(status));
    return 1;
}

int main(int count, char **arguments) {
    /* Structs say how large the program knows them: libraries of other versions understand it. */
    nanoembed_model_info info = {.size = sizeof info};
    nanoembed_error error = {.size = sizeof error};
    nanoembed_model *model = NULL;
    nanoembed_workspace *workspace = NULL;
    nanoembed_status status;
    float first[1024], second[1024], cosine = 0;
    if (count != 4) return fprintf(stderr, "usage: %s MODEL TEXT TEXT\n", arguments[0]), 2;

    status = nanoembed_model_open(arguments[1], NULL, &model, &error); /* mapped; or bytes, or a callback */
    if (!status) status = nanoembed_model_get_info(model, &info);
    if (!status) status = nanoembed_workspace_new(model, &workspace); /* one for each thread; the model is shared */
    if (status) return fail(arguments[1], status, &error);

    status = nanoembed_embed_text(model, workspace, arguments[2], strlen(arguments[2]), first, 1024, NULL, &error);
    if (status) return fail(arguments[2], status, &error);
    status = nanoembed_embed_text(model, workspace, arguments[3], strlen(arguments[3]), second, 1024, NULL, &error);
    if (!status) status = nanoembed_cosine(first, second, info.dimensions, &cosine);
    if (status) return fail(arguments[3], status, &error);
    printf("%.3f\n", cosine);
    nanoembed_workspace_free(workspace);
    nanoembed_model_free(model);
    return 0;
}
