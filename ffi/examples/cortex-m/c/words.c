/* Word vectors from a product-quantised `.fifu` in flash: words that the vocabulary has and lacks.
 * Arguments: the file that the vectors go to. */

#include "board.h"

#define DIMENSIONS 32

/* The file, put into flash by the assembler. */
__asm__(".section .rodata.words, \"a\"\n.balign 4\nwords_start:\n.incbin \"" WORDS_FILE "\"\nwords_end:\n.text\n");
extern const uint8_t words_start[], words_end[];

static uint8_t handle[640] __attribute__((aligned(8)));

void program(void) {
    static const char *const asked[] = {"computer", "recomputed", "gardenings"};
    uint32_t out = board_open(board_argument(), 5);
    uint8_t scratch[64];
    nanoembed_source source = {.size = sizeof source};
    nanoembed_words_plan plan = {.size = sizeof plan};
    nanoembed_words *words;
    nanoembed_error error = {.size = sizeof error};
    size_t i;
    board_check(nanoembed_source_from_buffer(words_start, (size_t)(words_end - words_start), &source), "source");
    board_check(nanoembed_plan_words(&source, NULL, scratch, sizeof scratch, &plan, &error), "plan");
    board_number("handle: ", plan.words_bytes);
    board_check(nanoembed_words_init(&source, NULL, handle, sizeof handle, scratch, sizeof scratch, &words, &error), "words");
    for (i = 0; i < sizeof asked / sizeof *asked; i++) {
        float vector[DIMENSIONS], floats[DIMENSIONS];
        nanoembed_found found = {.size = sizeof found};
        size_t length = 0;
        while (asked[i][length]) length++;
        board_check(nanoembed_words_vector(words, asked[i], length, floats, DIMENSIONS, vector, DIMENSIONS,
                                           &found, &error), asked[i]);
        board_print(asked[i]);
        board_print(found.subwords ? " is made of its n-grams\n" : " is a word\n");
        board_write(out, vector, sizeof vector);
    }
    board_close(out);
}
