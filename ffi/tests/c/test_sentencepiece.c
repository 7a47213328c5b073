/* SentencePiece: memory, texts to ids, ids to bytes. The file is a model alone, which has the piece for " the". */

#include "test.h"

void pieces(file *f) {
    nanoembed_source source, cut, stored = {NULL, 9, read_at, NULL};
    nanoembed_error error;
    nanoembed_sentencepiece_plan plan;
    nanoembed_tokenized tokenized;
    nanoembed_sentencepiece *model = NULL, *owned = NULL;
    uint32_t ids[8], one[1];
    uint8_t out[8];
    size_t length = 0, scratch_bytes = 0;
    unsigned long before;
    void *memory, *scratch;

    stored.context = f;
    OK(nanoembed_source_from_buffer(f->data, f->bytes, &source));
    OK(nanoembed_plan_sentencepiece(&source, &plan, &error));
    CHECK(plan.pieces > 500 && plan.begin == NANOEMBED_NO_TOKEN);
    memory = malloc(plan.sentencepiece_bytes);
    IS(nanoembed_sentencepiece_init(&source, memory, plan.sentencepiece_bytes - 1, &model, &error),
       NANOEMBED_BUFFER_TOO_SMALL);
    CHECK(model == NULL);
    before = allocations;
    OK(nanoembed_sentencepiece_init(&source, memory, plan.sentencepiece_bytes, &model, &error));
    CHECK(allocations == before);
    OK(nanoembed_sentencepiece_scratch_bytes(model, text("the the"), 7, &scratch_bytes));
    scratch = malloc(scratch_bytes);
    before = allocations;
    OK(nanoembed_sentencepiece_encode(model, text("the the"), 7, scratch, scratch_bytes, ids, 8, &tokenized, &error));
    CHECK(tokenized.tokens == 2 && tokenized.total == 2 && !tokenized.truncated && ids[0] == ids[1]);
    OK(nanoembed_sentencepiece_encode(model, text("the the"), 7, scratch, scratch_bytes, one, 1, &tokenized, &error));
    CHECK(tokenized.tokens == 1 && tokenized.total == 2 && tokenized.truncated && one[0] == ids[0]);
    OK(nanoembed_sentencepiece_piece(model, ids[1], out, 4, &length));
    CHECK(length == 4 && memcmp(out, " the", 4) == 0);
    CHECK(allocations == before);

    IS(nanoembed_sentencepiece_piece(model, ids[1], out, 3, &length), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_sentencepiece_piece(model, plan.pieces, out, 8, &length), NANOEMBED_TOKEN_OUT_OF_RANGE);
    IS(nanoembed_sentencepiece_encode(model, text("the the"), 7, scratch, 32, ids, 8, &tokenized, &error),
       NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_sentencepiece_encode(model, text("the\xff"), 4, scratch, scratch_bytes, ids, 8, &tokenized, &error),
       NANOEMBED_INVALID_UTF8);
    CHECK(error.offset == 3);

    OK(nanoembed_sentencepiece_new(&source, &owned, &error));
    OK(nanoembed_sentencepiece_encode(owned, text("the"), 3, scratch, scratch_bytes, one, 1, &tokenized, &error));
    CHECK(tokenized.total == 1 && one[0] == ids[0]);

    /* What is cut, or not in memory; NULL everywhere. */
    OK(nanoembed_source_from_buffer(f->data, f->bytes - 1, &cut));
    CHECK(nanoembed_plan_sentencepiece(&cut, &plan, &error) != NANOEMBED_OK);
    IS(nanoembed_plan_sentencepiece(&stored, &plan, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_plan_sentencepiece(NULL, &plan, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_plan_sentencepiece(&source, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_sentencepiece_init(&source, NULL, 9999, &model, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_sentencepiece_new(&source, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_sentencepiece_scratch_bytes(NULL, text("a"), 1, &length), NANOEMBED_BAD_POINTER);
    IS(nanoembed_sentencepiece_scratch_bytes(owned, text("a"), 1, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_sentencepiece_encode(NULL, text("a"), 1, scratch, scratch_bytes, ids, 8, &tokenized, NULL),
       NANOEMBED_BAD_POINTER);
    IS(nanoembed_sentencepiece_encode(owned, NULL, 1, scratch, scratch_bytes, ids, 8, &tokenized, NULL),
       NANOEMBED_BAD_POINTER);
    IS(nanoembed_sentencepiece_encode(owned, text("a"), 1, NULL, 99, ids, 8, &tokenized, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_sentencepiece_encode(owned, text("a"), 1, scratch, scratch_bytes, ids, 8, NULL, NULL),
       NANOEMBED_BAD_POINTER);
    IS(nanoembed_sentencepiece_piece(NULL, 0, out, 8, &length), NANOEMBED_BAD_POINTER);
    IS(nanoembed_sentencepiece_piece(owned, 0, out, 8, NULL), NANOEMBED_BAD_POINTER);
    nanoembed_sentencepiece_free(model);
    nanoembed_sentencepiece_free(NULL);
    nanoembed_sentencepiece_free(owned);
    free(memory);
    free(scratch);
}
