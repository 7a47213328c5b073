/* Sentence embeddings by a model in storage that is larger than the memory, read tile by tile.
 * Arguments: the model's file, a file of texts, the file that the vectors go to. */

#include "board.h"

static uint8_t arena[216 * 1024] __attribute__((aligned(8)));
static char texts[1024];
static float vector[384];

void program(void) {
    uint32_t file = board_open(board_argument(), 1), list = board_open(board_argument(), 1);
    uint32_t out = board_open(board_argument(), 5);
    nanoembed_source source = {.size = sizeof source};
    nanoembed_model_options options = {.size = sizeof options};
    nanoembed_plan plan = {.size = sizeof plan};
    nanoembed_model *model;
    nanoembed_workspace *workspace;
    nanoembed_error error = {.size = sizeof error};
    size_t length, start, end;
    uint8_t *rest;
    board_check((nanoembed_status)board_read_at(&list, 0, (uint8_t *)texts, sizeof texts, &length), "texts");
    board_check(nanoembed_source_from_callback(board_read_at, &file, board_length(file), &source), "source");
    options.tokens = 32;
    options.block_tokens = 8;
    options.vocabulary = NANOEMBED_VOCABULARY_IN_FILE;
    board_check(nanoembed_plan_model(&source, &options, arena, sizeof arena, &plan, &error), "plan");
    board_number("model: ", plan.model_bytes);
    board_number("workspace: ", plan.workspace_bytes);
    /* The model at the front of the arena; behind it the workspace, where reading has its scratch before. */
    rest = arena + plan.model_bytes;
    board_check(nanoembed_model_init(&source, &options, arena, plan.model_bytes, rest, sizeof arena - plan.model_bytes, &model,
                                     &error), "model");
    board_check(nanoembed_workspace_init(model, rest, sizeof arena - plan.model_bytes, &workspace), "workspace");
    for (start = 0; start < length; start = end + 1) {
        for (end = start; end < length && texts[end] != '\n'; end++) {}
        if (end == start) continue;
        board_check(nanoembed_embed_text(model, workspace, texts + start, end - start, vector, 384, NULL, &error), "embed");
        board_write(out, vector, plan.dimensions * sizeof *vector);
    }
    board_close(out);
}
