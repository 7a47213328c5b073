/* Tokenizers of every kind: memory, texts to ids, ids to bytes. */

#include "test.h"

#define AS_TOKENS NANOEMBED_SPECIAL_TOKENS_AS_TOKENS

static uint32_t ids_of(const nanoembed_tokenizer *bpe, const char *s, void *scratch, size_t bytes, uint32_t *ids, size_t room) {
    nanoembed_tokenized tokenized = {.size = sizeof tokenized};
    OK(nanoembed_tokenizer_encode(bpe, s, strlen(s), AS_TOKENS, scratch, bytes, ids, room, &tokenized, NULL));
    CHECK(tokenized.truncated == (tokenized.tokens < tokenized.total));
    return tokenized.total;
}

/* The file has the tokens a, b, c, ab and abc, and two merges. */
void byte_pairs(file *f) {
    nanoembed_source source = {.size = sizeof source}, cut = {.size = sizeof cut}, stored = {.size = sizeof stored, .length = 9, .read_at = read_at};
    nanoembed_error error = {.size = sizeof error};
    nanoembed_tokenizer_plan plan = {.size = sizeof plan};
    nanoembed_tokenizer_info info = {.size = sizeof info};
    nanoembed_tokenized tokenized = {.size = sizeof tokenized};
    nanoembed_tokenizer *bpe = NULL, *owned = NULL;
    uint32_t ids[8];
    char out[8];
    size_t length = 0, scratch_bytes = 0;
    unsigned long before;
    void *memory, *scratch;

    stored.context = f;
    OK(nanoembed_source_from_buffer(f->data, f->bytes, &source));
    OK(nanoembed_plan_tokenizer(&source, &plan, &error));
    memory = malloc(plan.tokenizer_bytes);
    IS(nanoembed_tokenizer_init(&source, memory, plan.tokenizer_bytes - 1, &bpe, &error), NANOEMBED_BUFFER_TOO_SMALL);
    CHECK(bpe == NULL);
    before = allocations;
    OK(nanoembed_tokenizer_init(&source, memory, plan.tokenizer_bytes, &bpe, &error));
    CHECK(allocations == before);
    OK(nanoembed_tokenizer_get_info(bpe, &info));
    CHECK(info.kind == NANOEMBED_TOKENIZER_BPE && info.tokens == 5 && info.end == 4 && info.begin == NANOEMBED_NO_TOKEN);
    OK(nanoembed_tokenizer_scratch_bytes(bpe, "abcabcab", 8, &scratch_bytes));
    scratch = malloc(scratch_bytes);
    before = allocations;
    CHECK(ids_of(bpe, "abcab", scratch, scratch_bytes, ids, 8) == 2 && ids[0] == 4 && ids[1] == 3);
    CHECK(ids_of(bpe, "cz a", scratch, scratch_bytes, ids, 8) == 2 && ids[0] == 2 && ids[1] == 0);
    CHECK(ids_of(bpe, "abcab", scratch, scratch_bytes, ids, 1) == 2 && ids[0] == 4);
    CHECK(ids_of(bpe, "", scratch, scratch_bytes, NULL, 0) == 0);
    OK(nanoembed_tokenizer_token(bpe, 4, out, 3, &length));
    CHECK(length == 3 && memcmp(out, "abc", 3) == 0);
    CHECK(allocations == before);

    IS(nanoembed_tokenizer_token(bpe, 4, out, 2, &length), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_tokenizer_token(bpe, 5, out, 8, &length), NANOEMBED_TOKEN_OUT_OF_RANGE);
    IS(nanoembed_tokenizer_encode(bpe, "abcab", 5, AS_TOKENS, scratch, 64, ids, 8, &tokenized, &error), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_tokenizer_encode(bpe, "ab\xff", 3, AS_TOKENS, scratch, scratch_bytes, ids, 8, &tokenized, &error),
       NANOEMBED_INVALID_UTF8);
    CHECK(error.offset == 2);

    OK(nanoembed_tokenizer_new(&source, &owned, &error));
    CHECK(ids_of(owned, "abc", scratch, scratch_bytes, ids, 8) == 1 && ids[0] == 4);

    /* What has no such tokenizer, or is not in memory; NULL everywhere. */
    OK(nanoembed_source_from_buffer(f->data, f->bytes - 1, &cut));
    CHECK(nanoembed_plan_tokenizer(&cut, &plan, &error) >= 101 && error.status < 200);
    OK(nanoembed_source_from_buffer(f->data + 1, 40, &cut));
    IS(nanoembed_plan_tokenizer(&cut, &plan, &error), NANOEMBED_UNKNOWN_FORMAT);
    IS(nanoembed_plan_tokenizer(&stored, &plan, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_plan_tokenizer(NULL, &plan, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_plan_tokenizer(&source, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_init(&source, NULL, 9999, &bpe, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_new(&source, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_encode(NULL, "a", 1, AS_TOKENS, scratch, scratch_bytes, ids, 8, &tokenized, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_encode(bpe, NULL, 1, AS_TOKENS, scratch, scratch_bytes, ids, 8, &tokenized, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_encode(bpe, "a", 1, AS_TOKENS, NULL, 99, ids, 8, &tokenized, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_encode(bpe, "a", 1, AS_TOKENS, scratch, scratch_bytes, NULL, 8, &tokenized, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_encode(bpe, "a", 1, AS_TOKENS, scratch, scratch_bytes, ids, 8, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_encode(bpe, "a", 1, 2, scratch, scratch_bytes, ids, 8, &tokenized, NULL),
       NANOEMBED_INVALID_ARGUMENT);
    IS(nanoembed_tokenizer_scratch_bytes(NULL, "a", 1, &length), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_scratch_bytes(bpe, "a", 1, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_get_info(NULL, &info), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_get_info(bpe, NULL), NANOEMBED_BAD_POINTER);
    CHECK(nanoembed_tokenizer_ends_text(bpe, 4) == 1 && nanoembed_tokenizer_ends_text(bpe, 3) == 0);
    CHECK(nanoembed_tokenizer_ends_text(NULL, 4) == 0);
    IS(nanoembed_tokenizer_token(NULL, 0, out, 8, &length), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_token(bpe, 0, out, 8, NULL), NANOEMBED_BAD_POINTER);
    nanoembed_tokenizer_free(bpe);
    nanoembed_tokenizer_free(NULL);
    nanoembed_tokenizer_free(owned);
    free(memory);
    free(scratch);
}

/* The file is a model of SentencePiece alone, which has the piece for " the". */
void pieces(file *f) {
    nanoembed_source source = {.size = sizeof source}, cut = {.size = sizeof cut}, stored = {.size = sizeof stored, .length = 9, .read_at = read_at};
    nanoembed_error error = {.size = sizeof error};
    nanoembed_tokenizer_plan plan = {.size = sizeof plan};
    nanoembed_tokenizer_info info = {.size = sizeof info};
    nanoembed_tokenized tokenized = {.size = sizeof tokenized};
    nanoembed_tokenizer *model = NULL, *owned = NULL;
    uint32_t ids[8], one[1];
    char out[8];
    size_t length = 0, scratch_bytes = 0;
    unsigned long before;
    void *memory, *scratch;

    stored.context = f;
    OK(nanoembed_source_from_buffer(f->data, f->bytes, &source));
    OK(nanoembed_plan_tokenizer(&source, &plan, &error));
    memory = malloc(plan.tokenizer_bytes);
    IS(nanoembed_tokenizer_init(&source, memory, plan.tokenizer_bytes - 1, &model, &error),
       NANOEMBED_BUFFER_TOO_SMALL);
    CHECK(model == NULL);
    before = allocations;
    OK(nanoembed_tokenizer_init(&source, memory, plan.tokenizer_bytes, &model, &error));
    CHECK(allocations == before);
    OK(nanoembed_tokenizer_get_info(model, &info));
    CHECK(info.kind == NANOEMBED_TOKENIZER_SENTENCEPIECE && info.tokens > 500 && info.begin == NANOEMBED_NO_TOKEN);
    CHECK(nanoembed_tokenizer_ends_text(model, info.end) == 1);
    OK(nanoembed_tokenizer_scratch_bytes(model, "the the", 7, &scratch_bytes));
    scratch = malloc(scratch_bytes);
    before = allocations;
    OK(nanoembed_tokenizer_encode(model, "the the", 7, AS_TOKENS, scratch, scratch_bytes, ids, 8, &tokenized, &error));
    CHECK(tokenized.tokens == 2 && tokenized.total == 2 && !tokenized.truncated && ids[0] == ids[1]);
    OK(nanoembed_tokenizer_encode(model, "the the", 7, AS_TOKENS, scratch, scratch_bytes, one, 1, &tokenized, &error));
    CHECK(tokenized.tokens == 1 && tokenized.total == 2 && tokenized.truncated && one[0] == ids[0]);
    OK(nanoembed_tokenizer_token(model, ids[1], out, 4, &length));
    CHECK(length == 4 && memcmp(out, " the", 4) == 0);
    CHECK(allocations == before);

    IS(nanoembed_tokenizer_token(model, ids[1], out, 3, &length), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_tokenizer_token(model, info.tokens, out, 8, &length), NANOEMBED_TOKEN_OUT_OF_RANGE);
    IS(nanoembed_tokenizer_encode(model, "the the", 7, AS_TOKENS, scratch, 32, ids, 8, &tokenized, &error),
       NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_tokenizer_encode(model, "the\xff", 4, AS_TOKENS, scratch, scratch_bytes, ids, 8, &tokenized, &error),
       NANOEMBED_INVALID_UTF8);
    CHECK(error.offset == 3);

    OK(nanoembed_tokenizer_new(&source, &owned, &error));
    OK(nanoembed_tokenizer_encode(owned, "the", 3, AS_TOKENS, scratch, scratch_bytes, one, 1, &tokenized, &error));
    CHECK(tokenized.total == 1 && one[0] == ids[0]);

    /* What is cut, or not in memory; NULL everywhere. */
    OK(nanoembed_source_from_buffer(f->data, f->bytes - 1, &cut));
    CHECK(nanoembed_plan_tokenizer(&cut, &plan, &error) != NANOEMBED_OK);
    IS(nanoembed_plan_tokenizer(&stored, &plan, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_plan_tokenizer(NULL, &plan, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_plan_tokenizer(&source, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_init(&source, NULL, 9999, &model, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_new(&source, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_scratch_bytes(NULL, "a", 1, &length), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_scratch_bytes(owned, "a", 1, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_encode(NULL, "a", 1, AS_TOKENS, scratch, scratch_bytes, ids, 8, &tokenized, NULL),
       NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_encode(owned, NULL, 1, AS_TOKENS, scratch, scratch_bytes, ids, 8, &tokenized, NULL),
       NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_encode(owned, "a", 1, AS_TOKENS, NULL, 99, ids, 8, &tokenized, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_encode(owned, "a", 1, AS_TOKENS, scratch, scratch_bytes, ids, 8, NULL, NULL),
       NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_token(NULL, 0, out, 8, &length), NANOEMBED_BAD_POINTER);
    IS(nanoembed_tokenizer_token(owned, 0, out, 8, NULL), NANOEMBED_BAD_POINTER);
    nanoembed_tokenizer_free(model);
    nanoembed_tokenizer_free(NULL);
    nanoembed_tokenizer_free(owned);
    free(memory);
    free(scratch);
}

/* The file is that of an encoder. */
void word_pieces(file *f) {
    nanoembed_source source = {.size = sizeof source};
    nanoembed_error error = {.size = sizeof error};
    nanoembed_tokenizer_plan plan = {.size = sizeof plan};
    nanoembed_tokenizer_info info = {.size = sizeof info};
    nanoembed_tokenized tokenized = {.size = sizeof tokenized};
    nanoembed_tokenizer *tokenizer = NULL;
    uint32_t ids[8], cut[3];
    char out[16];
    size_t length = 1;
    unsigned long before;
    void *memory;

    OK(nanoembed_source_from_buffer(f->data, f->bytes, &source));
    OK(nanoembed_plan_tokenizer(&source, &plan, &error));
    memory = malloc(plan.tokenizer_bytes);
    IS(nanoembed_tokenizer_init(&source, memory, plan.tokenizer_bytes - 1, &tokenizer, &error), NANOEMBED_BUFFER_TOO_SMALL);
    before = allocations;
    OK(nanoembed_tokenizer_init(&source, memory, plan.tokenizer_bytes, &tokenizer, &error));
    OK(nanoembed_tokenizer_get_info(tokenizer, &info));
    CHECK(info.kind == NANOEMBED_TOKENIZER_WORDPIECE && info.tokens == 30522 && info.begin == 101 && info.end == 102);
    OK(nanoembed_tokenizer_scratch_bytes(tokenizer, "hello", 5, &length));
    CHECK(length == 0);
    OK(nanoembed_tokenizer_encode(tokenizer, "hello [SEP]", 11, AS_TOKENS, NULL, 0, ids, 8, &tokenized, &error));
    CHECK(tokenized.tokens == 4 && ids[0] == 101 && ids[1] == 7592 && ids[2] == 102 && ids[3] == 102);
    /* As text, that is three words. */
    OK(nanoembed_tokenizer_encode(tokenizer, "hello [SEP]", 11, NANOEMBED_SPECIAL_TOKENS_AS_TEXT, NULL, 0, ids, 8,
                                  &tokenized, &error));
    CHECK(tokenized.tokens > 4 && ids[1] == 7592 && ids[2] != 102 && !tokenized.truncated);
    /* What is cut keeps its last token. */
    OK(nanoembed_tokenizer_encode(tokenizer, "hello hello", 11, AS_TOKENS, NULL, 0, cut, 3, &tokenized, &error));
    CHECK(tokenized.tokens == 3 && tokenized.total == 4 && tokenized.truncated && cut[1] == 7592 && cut[2] == 102);
    IS(nanoembed_tokenizer_encode(tokenizer, "hello", 5, AS_TOKENS, NULL, 0, cut, 1, &tokenized, &error),
       NANOEMBED_BUFFER_TOO_SMALL);
    OK(nanoembed_tokenizer_token(tokenizer, 7592, out, 16, &length));
    CHECK(length == 5 && memcmp(out, "hello", 5) == 0);
    CHECK(allocations == before);
    IS(nanoembed_tokenizer_token(tokenizer, 7592, out, 4, &length), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_tokenizer_token(tokenizer, 30522, out, 16, &length), NANOEMBED_TOKEN_OUT_OF_RANGE);
    CHECK(nanoembed_tokenizer_ends_text(tokenizer, 102) == 1 && nanoembed_tokenizer_ends_text(tokenizer, 101) == 0);
    free(memory);
}
