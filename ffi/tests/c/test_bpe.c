/* The tokenizer of decoders: memory, texts to ids, ids to bytes. The file has the tokens a, b, c, ab and abc, and two merges. */

#include "test.h"

static uint32_t ids_of(const nanoembed_bpe *bpe, const char *s, void *scratch, size_t bytes, uint32_t *ids, size_t room) {
    nanoembed_tokenized tokenized;
    OK(nanoembed_bpe_encode(bpe, text(s), strlen(s), scratch, bytes, ids, room, &tokenized, NULL));
    CHECK(tokenized.truncated == (tokenized.tokens < tokenized.total));
    return tokenized.total;
}

void tokenizers(file *f) {
    nanoembed_source source, cut, stored = {NULL, 9, read_at, NULL};
    nanoembed_error error;
    nanoembed_bpe_plan plan;
    nanoembed_tokenized tokenized;
    nanoembed_bpe *bpe = NULL, *owned = NULL;
    uint32_t ids[8];
    uint8_t out[8];
    size_t length = 0, scratch_bytes = nanoembed_bpe_scratch_bytes(8);
    unsigned long before;
    void *memory, *scratch = malloc(scratch_bytes);

    stored.context = f;
    OK(nanoembed_source_from_buffer(f->data, f->bytes, &source));
    OK(nanoembed_plan_bpe(&source, &plan, &error));
    CHECK(plan.tokens == 5 && plan.end == 4 && plan.begin == NANOEMBED_NO_TOKEN);
    memory = malloc(plan.bpe_bytes);
    IS(nanoembed_bpe_init(&source, memory, plan.bpe_bytes - 1, &bpe, &error), NANOEMBED_BUFFER_TOO_SMALL);
    CHECK(bpe == NULL);
    before = allocations;
    OK(nanoembed_bpe_init(&source, memory, plan.bpe_bytes, &bpe, &error));
    CHECK(ids_of(bpe, "abcab", scratch, scratch_bytes, ids, 8) == 2 && ids[0] == 4 && ids[1] == 3);
    CHECK(ids_of(bpe, "cz a", scratch, scratch_bytes, ids, 8) == 2 && ids[0] == 2 && ids[1] == 0);
    CHECK(ids_of(bpe, "abcab", scratch, scratch_bytes, ids, 1) == 2 && ids[0] == 4);
    CHECK(ids_of(bpe, "", scratch, scratch_bytes, NULL, 0) == 0);
    OK(nanoembed_bpe_token(bpe, 4, out, 3, &length));
    CHECK(length == 3 && memcmp(out, "abc", 3) == 0);
    CHECK(allocations == before);

    IS(nanoembed_bpe_token(bpe, 4, out, 2, &length), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_bpe_token(bpe, 5, out, 8, &length), NANOEMBED_TOKEN_OUT_OF_RANGE);
    IS(nanoembed_bpe_encode(bpe, text("abcab"), 5, scratch, 64, ids, 8, &tokenized, &error), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_bpe_encode(bpe, text("ab\xff"), 3, scratch, scratch_bytes, ids, 8, &tokenized, &error),
       NANOEMBED_INVALID_UTF8);
    CHECK(error.offset == 2);

    OK(nanoembed_bpe_new(&source, &owned, &error));
    CHECK(ids_of(owned, "abc", scratch, scratch_bytes, ids, 8) == 1 && ids[0] == 4);

    /* What has no such tokenizer, or is not in memory; NULL everywhere. */
    OK(nanoembed_source_from_buffer(f->data, f->bytes - 1, &cut));
    CHECK(nanoembed_plan_bpe(&cut, &plan, &error) >= 101 && error.status < 200);
    OK(nanoembed_source_from_buffer(f->data + 1, 40, &cut));
    IS(nanoembed_plan_bpe(&cut, &plan, &error), NANOEMBED_UNKNOWN_FORMAT);
    IS(nanoembed_plan_bpe(&stored, &plan, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_plan_bpe(NULL, &plan, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_plan_bpe(&source, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_bpe_init(&source, NULL, 9999, &bpe, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_bpe_new(&source, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_bpe_encode(NULL, text("a"), 1, scratch, scratch_bytes, ids, 8, &tokenized, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_bpe_encode(bpe, NULL, 1, scratch, scratch_bytes, ids, 8, &tokenized, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_bpe_encode(bpe, text("a"), 1, NULL, 99, ids, 8, &tokenized, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_bpe_encode(bpe, text("a"), 1, scratch, scratch_bytes, NULL, 8, &tokenized, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_bpe_encode(bpe, text("a"), 1, scratch, scratch_bytes, ids, 8, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_bpe_token(NULL, 0, out, 8, &length), NANOEMBED_BAD_POINTER);
    IS(nanoembed_bpe_token(bpe, 0, out, 8, NULL), NANOEMBED_BAD_POINTER);
    nanoembed_bpe_free(bpe);
    nanoembed_bpe_free(NULL);
    nanoembed_bpe_free(owned);
    free(memory);
    free(scratch);
}
