/* Word vectors. */

#include "test.h"

void word_vectors(file *f, const char *known) {
    nanoembed_source source = {.size = sizeof source}, stored = {.size = sizeof stored};
    nanoembed_words_options options = {.size = sizeof options};
    nanoembed_words_plan plan = {.size = sizeof plan}, again = {.size = sizeof again};
    nanoembed_words *words[3] = {NULL, NULL, NULL};
    nanoembed_error error = {.size = sizeof error};
    nanoembed_found found = {.size = sizeof found};
    static uint8_t scratch[512];
    uint8_t *memory[2], *search;
    float vectors[3][64], query[64], floats[128];
    nanoembed_scored best[3];
    uint32_t row = 0, skip, rows[3];
    size_t i, count_found, length, n = strlen(known);
    char word[64];
    OK(nanoembed_source_from_buffer(f->data, f->bytes, &source));
    OK(nanoembed_source_from_callback(read_at, f, f->bytes, &stored));
    for (i = 0; i < 2; i++) {
        const nanoembed_source *from = i ? &stored : &source;
        options.indexed = (uint32_t)i;
        f->at_most = 100;
        OK(nanoembed_plan_words(from, &options, scratch, sizeof scratch, &plan, &error));
        CHECK(plan.dimensions <= 64 && plan.words > 0 && plan.analogy_floats <= 128);
        memory[i] = malloc(plan.words_bytes);
        IS(nanoembed_words_init(from, &options, memory[i], plan.words_bytes - 1, scratch, sizeof scratch, &words[i], &error),
           NANOEMBED_BUFFER_TOO_SMALL);
        CHECK(words[i] == NULL);
        OK(nanoembed_words_init(from, &options, memory[i], plan.words_bytes, scratch, sizeof scratch, &words[i], &error));
    }
    f->at_most = (size_t)-1;
    OK(nanoembed_words_new(&source, &options, &words[2], &error));
    for (i = 0; i < 3; i++) {
        memset(vectors[i], 0, sizeof vectors[i]);
        OK(nanoembed_words_find(words[i], known, n, &row, &error));
        OK(nanoembed_words_word(words[i], row, word, sizeof word, &length, &error));
        CHECK(length == n && memcmp(word, known, n) == 0);
        OK(nanoembed_words_vector(words[i], known, n, floats, plan.vector_floats, vectors[i], plan.dimensions,
                                  &found, &error));
        CHECK(found.row == row && found.subwords == 0);
        OK(nanoembed_words_get_plan(words[i], &again));
        CHECK(again.similar_bytes == plan.similar_bytes && again.dimensions == plan.dimensions);
        search = malloc(plan.similar_bytes);
        skip = row;
        OK(nanoembed_words_similar(words[i], vectors[i], plan.dimensions, NULL, 0, search, plan.similar_bytes, best, 1,
                                   &count_found, &error));
        CHECK(count_found == 1);
        OK(nanoembed_words_similar(words[i], vectors[i], plan.dimensions, &skip, 1, search, plan.similar_bytes, best, 3,
                                   &count_found, &error));
        CHECK(best[0].row != row);
        IS(nanoembed_words_similar(words[i], vectors[i], plan.dimensions, NULL, 0, search, plan.similar_bytes - 1, best, 1,
                                   &count_found, &error), NANOEMBED_BUFFER_TOO_SMALL);
        IS(nanoembed_words_similar(words[i], vectors[i], plan.dimensions - 1, NULL, 0, search, plan.similar_bytes, best, 1,
                                   &count_found, &error), NANOEMBED_INVALID_ARGUMENT);
        OK(nanoembed_words_analogy(words[i], known, n, known, n, known, n, floats, plan.analogy_floats,
                                   query, plan.dimensions, rows, &error));
        CHECK(rows[0] == row && rows[1] == row && rows[2] == row);
        if (plan.vector_floats > 0)
            IS(nanoembed_words_vector(words[i], known, n, floats, plan.vector_floats - 1, query, plan.dimensions, NULL,
                                      NULL), NANOEMBED_BUFFER_TOO_SMALL);
        IS(nanoembed_words_vector(words[i], known, n, floats, plan.vector_floats, query, plan.dimensions - 1, NULL, NULL),
           NANOEMBED_BUFFER_TOO_SMALL);
        IS(nanoembed_words_find(words[i], "\x01\x02", 2, &row, NULL), NANOEMBED_NOT_FOUND);
        IS(nanoembed_words_word(words[i], 0xffffffffu, word, sizeof word, &length, NULL), NANOEMBED_INVALID_ARGUMENT);
        IS(nanoembed_words_word(words[i], row, word, n - 1, &length, NULL), NANOEMBED_BUFFER_TOO_SMALL);
        free(search);
    }
    CHECK(memcmp(vectors[0], vectors[1], sizeof query) == 0 && memcmp(vectors[0], vectors[2], sizeof query) == 0);
    /* A word that the vocabulary lacks, where it has n-grams. */
    if (plan.rows > plan.words) {
        OK(nanoembed_words_vector(words[0], "unheardof", 9, floats, plan.vector_floats, query, plan.dimensions, &found,
                                  NULL));
        CHECK(found.row == 0xffffffffu && found.subwords > 0 && found.norm > 0);
        OK(nanoembed_words_vector(words[1], "unheardof", 9, floats, plan.vector_floats, vectors[1], plan.dimensions,
                                  NULL, NULL));
        CHECK(memcmp(query, vectors[1], plan.dimensions * sizeof(float)) == 0);
    } else {
        IS(nanoembed_words_vector(words[0], "unheardof", 9, floats, plan.vector_floats, query, plan.dimensions, NULL,
                                  NULL), NANOEMBED_NOT_FOUND);
        IS(nanoembed_words_analogy(words[0], "unheardof", 9, known, n, known, n, floats,
                                   plan.analogy_floats, query, plan.dimensions, NULL, NULL), NANOEMBED_NOT_FOUND);
    }
    IS(nanoembed_words_find(NULL, "a", 1, &row, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_words_find(words[0], NULL, 1, &row, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_words_get_plan(NULL, &plan), NANOEMBED_BAD_POINTER);
    IS(nanoembed_words_new(&source, &options, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_words_new(NULL, &options, &words[1], NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_plan_words(&source, &options, scratch, 2, &plan, &error), NANOEMBED_BUFFER_TOO_SMALL);
    nanoembed_words_free(words[2]);
    nanoembed_words_free(words[0]);
    nanoembed_words_free(NULL);
    free(memory[0]);
    free(memory[1]);
}
