/* Sentences embedded by a static model in flash, on a Cortex-M0 with 16 KiB of RAM.
 * Arguments: the file that the vectors go to. */

#include "board.h"

#define DIMENSIONS 48

/* The model, put into flash by the assembler. */
__asm__(".section .rodata.table, \"a\"\n.balign 16\ntable_start:\n.incbin \"" TABLE_FILE "\"\ntable_end:\n.text\n");
extern const uint8_t table_start[], table_end[];

static uint8_t arena[3072] __attribute__((aligned(8)));
static float vector[DIMENSIONS];

void program(void) {
    /* As in tests/data/small_texts.txt. */
    static const char *const texts[] = {"The door is open", "sensor 7: high temperature!", "Pump stopped; valve closed"};
    uint32_t out = board_open(board_argument(), 5);
    nanoembed_source source = {.size = sizeof source};
    nanoembed_model_options options = {.size = sizeof options, .vocabulary = NANOEMBED_VOCABULARY_IN_FILE};
    nanoembed_plan plan = {.size = sizeof plan};
    nanoembed_error error = {.size = sizeof error};
    nanoembed_model *model;
    nanoembed_workspace *workspace;
    uint8_t *rest;
    size_t scratch_bytes, i;
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
    for (i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t length = 0;
        while (texts[i][length]) length++;
        board_check(nanoembed_embed_text(model, workspace, texts[i], length, vector, DIMENSIONS, NULL, &error), "embed");
        board_write(out, vector, sizeof vector);
    }
    board_close(out);
}
