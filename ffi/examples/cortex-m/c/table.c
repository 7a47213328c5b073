/* Sentences embedded by a static model in flash: on a Cortex-M0 with 16 KiB of RAM, and, with a Unigram tokenizer, on a
 * Cortex-M4. The Makefile says which model and texts, how long its vectors are and what memory it takes.
 * Arguments: the file that the vectors go to. */

#include "board.h"

/* The model and the texts, a line each, put into flash by the assembler. */
__asm__(".section .rodata.table, \"a\"\n.balign 16\ntable_start:\n.incbin \"" TABLE_FILE "\"\ntable_end:\n"
        "texts_start:\n.incbin \"" TEXTS_FILE "\"\ntexts_end:\n.text\n");
extern const uint8_t table_start[], table_end[];
extern const char texts_start[], texts_end[];

static uint8_t arena[ARENA_BYTES] __attribute__((aligned(8)));
static float vector[DIMENSIONS];

void program(void) {
    const char *text = texts_start, *end;
    uint32_t out = board_open(board_argument(), 5);
    nanoembed_source source = {.size = sizeof source};
    nanoembed_model_options options = {.size = sizeof options, .vocabulary = VOCABULARY};
    nanoembed_plan plan = {.size = sizeof plan};
    nanoembed_error error = {.size = sizeof error};
    nanoembed_model *model;
    nanoembed_workspace *workspace;
    uint8_t *rest;
    size_t scratch_bytes;
    board_check(nanoembed_source_from_buffer(table_start, (size_t)(table_end - table_start), &source), "source");
    board_check(nanoembed_plan_scratch(&source, &scratch_bytes, &error), "scratch");
    board_check(nanoembed_plan_model(&source, &options, arena, sizeof arena, &plan, &error), "plan");
    board_number("scratch: ", scratch_bytes);
    board_number("model: ", plan.model_bytes);
    board_number("workspace: ", plan.workspace_bytes);
    /* The model at the front of the arena; behind it the workspace, where reading has its scratch before. */
    rest = arena + plan.model_bytes;
    board_check(nanoembed_model_init(&source, &options, arena, plan.model_bytes, rest, sizeof arena - plan.model_bytes, &model,
                                     &error), "model");
    board_check(nanoembed_workspace_init(model, rest, sizeof arena - plan.model_bytes, &workspace), "workspace");
    for (; text < texts_end; text = end + 1) {
        for (end = text; end < texts_end && *end != '\n'; end++) {}
        board_check(nanoembed_embed_text(model, workspace, text, (size_t)(end - text), vector, DIMENSIONS, NULL, &error),
                    "embed");
        board_write(out, vector, sizeof vector);
    }
    board_close(out);
}
