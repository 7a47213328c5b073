/* A decoder and its sessions: memory, tokens in, tokens out. */

#include "test.h"

/* The tokens that Rust chooses, see tests/generate.rs. */
static const uint32_t prompt[] = {3, 1, 4, 1, 5, 9, 2, 6};
#define PROMPT (sizeof prompt / sizeof *prompt)
static const uint32_t greedy[] = {49, 37, 51, 49, 7, 3, 7, 24, 28, 13, 26, 7, 24, 19, 60, 22, 44, 59, 44, 11, 49, 57, 3, 42};
static const uint32_t sampled[] = {49, 37, 63, 13, 4, 28, 7, 42, 1, 49, 31, 43, 30, 63, 57, 42, 13, 4, 60, 52, 37, 28, 60, 18};
#define TOKENS (sizeof greedy / sizeof *greedy)

static void says(const nanoembed_decoder *decoder, nanoembed_session *session, const uint32_t *expected) {
    size_t i;
    uint32_t id = 0;
    OK(nanoembed_session_truncate(session, 0));
    CHECK(nanoembed_session_length(session) == 0);
    IS(nanoembed_session_sample(session, &id), NANOEMBED_INVALID_ARGUMENT);
    OK(nanoembed_session_feed(decoder, session, prompt, PROMPT, NULL));
    for (i = 0; i < TOKENS; i++) {
        OK(nanoembed_session_sample(session, &id));
        CHECK(id == expected[i]);
        OK(nanoembed_session_feed(decoder, session, &id, 1, NULL));
    }
    CHECK(nanoembed_session_length(session) == PROMPT + TOKENS);
}

void decoders(file *f) {
    nanoembed_source source = {.size = sizeof source}, stored = {.size = sizeof stored}, cut = {.size = sizeof cut};
    nanoembed_decoder_options options = {.size = sizeof options};
    nanoembed_decoder_plan plan = {.size = sizeof plan}, again = {.size = sizeof again};
    nanoembed_decoder *decoder = NULL, *owned = NULL;
    nanoembed_session *session = NULL, *other = NULL;
    nanoembed_sampling sampling = {.size = sizeof sampling};
    nanoembed_error error = {.size = sizeof error};
    unsigned long before;
    float one[64], two[64];
    uint8_t *memory, *work;
    uint32_t id = 64;
    size_t i;
    options.positions = (uint32_t)(PROMPT + TOKENS);
    options.tokens_at_once = 3;
    OK(nanoembed_source_from_buffer(f->data, f->bytes, &source));
    OK(nanoembed_source_from_callback(read_at, f, f->bytes, &stored));
    OK(nanoembed_plan_decoder(&source, &options, &plan, &error));
    CHECK(plan.vocabulary == 64 && plan.layers == 2 && plan.hidden == 32);
    CHECK(plan.positions == PROMPT + TOKENS && plan.tokens_at_once == 3);

    /* Exactly the memory that was said, and a byte less. */
    memory = malloc(plan.decoder_bytes);
    work = malloc(plan.session_bytes);
    before = allocations;
    IS(nanoembed_decoder_init(&source, &options, memory, plan.decoder_bytes - 1, &decoder, &error),
       NANOEMBED_BUFFER_TOO_SMALL);
    CHECK(decoder == NULL);
    OK(nanoembed_decoder_init(&source, &options, memory, plan.decoder_bytes, &decoder, &error));
    OK(nanoembed_decoder_get_plan(decoder, &again));
    CHECK(again.session_bytes == plan.session_bytes && again.decoder_bytes == plan.decoder_bytes);
    IS(nanoembed_session_init(decoder, work, plan.session_bytes - 1, &session), NANOEMBED_BUFFER_TOO_SMALL);
    CHECK(session == NULL);
    OK(nanoembed_session_init(decoder, work, plan.session_bytes, &session));
    says(decoder, session, greedy);
    /* No room is left; the session is as before. */
    IS(nanoembed_session_feed(decoder, session, prompt, 1, &error), NANOEMBED_TOO_MANY_TOKENS);
    CHECK(error.status == NANOEMBED_TOO_MANY_TOKENS && nanoembed_session_length(session) == PROMPT + TOKENS);
    sampling.temperature = 0.9f;
    sampling.top_p = 0.95f;
    sampling.top_k = 40;
    sampling.seed = 7;
    OK(nanoembed_session_set_sampling(session, &sampling));
    says(decoder, session, sampled);
    CHECK(allocations == before);

    /* From the heap; token by token instead of all at once. */
    OK(nanoembed_decoder_new(&source, NULL, &owned, &error));
    OK(nanoembed_session_new(owned, &other));
    for (i = 0; i < PROMPT; i++) OK(nanoembed_session_feed(owned, other, prompt + i, 1, NULL));
    OK(nanoembed_session_truncate(session, 0));
    OK(nanoembed_session_feed(decoder, session, prompt, PROMPT, NULL));
    OK(nanoembed_session_logits(session, one, 64));
    OK(nanoembed_session_logits(other, two, 64));
    for (i = 0; i < 64; i++) CHECK(fabsf(one[i] - two[i]) < 1e-4f);
    IS(nanoembed_session_logits(session, one, 63), NANOEMBED_BUFFER_TOO_SMALL);
    IS(nanoembed_session_feed(owned, other, &id, 1, NULL), NANOEMBED_TOKEN_OUT_OF_RANGE);
    IS(nanoembed_session_feed(owned, other, &id, 0, NULL), NANOEMBED_INVALID_ARGUMENT);
    CHECK(nanoembed_session_length(other) == PROMPT);
    sampling.temperature = -1;
    IS(nanoembed_session_set_sampling(other, &sampling), NANOEMBED_INVALID_ARGUMENT);

    /* What is no decoder, or not in memory; NULL everywhere. */
    IS(nanoembed_plan_decoder(&stored, NULL, &plan, NULL), NANOEMBED_BAD_POINTER);
    OK(nanoembed_source_from_buffer(f->data, f->bytes - 1, &cut));
    CHECK(nanoembed_plan_decoder(&cut, NULL, &plan, &error) >= 101 && error.status < 200);
    OK(nanoembed_source_from_buffer(f->data + 1, 1000, &cut));
    IS(nanoembed_plan_decoder(&cut, NULL, &plan, &error), NANOEMBED_UNKNOWN_FORMAT);
    IS(nanoembed_plan_decoder(NULL, NULL, &plan, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_plan_decoder(&source, NULL, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_decoder_init(&source, NULL, NULL, 99999, &decoder, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_decoder_new(&source, NULL, NULL, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_decoder_get_plan(NULL, &plan), NANOEMBED_BAD_POINTER);
    IS(nanoembed_session_init(NULL, work, 99999, &session), NANOEMBED_BAD_POINTER);
    IS(nanoembed_session_new(owned, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_session_feed(owned, NULL, prompt, 1, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_session_feed(NULL, other, prompt, 1, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_session_feed(owned, other, NULL, 1, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_session_sample(NULL, &id), NANOEMBED_BAD_POINTER);
    IS(nanoembed_session_sample(session, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_session_logits(NULL, one, 64), NANOEMBED_BAD_POINTER);
    IS(nanoembed_session_set_sampling(session, NULL), NANOEMBED_BAD_POINTER);
    IS(nanoembed_session_truncate(NULL, 0), NANOEMBED_BAD_POINTER);
    CHECK(nanoembed_session_length(NULL) == 0);
    nanoembed_session_free(other);
    nanoembed_session_free(session);
    nanoembed_session_free(NULL);
    nanoembed_decoder_free(owned);
    nanoembed_decoder_free(decoder);
    nanoembed_decoder_free(NULL);
    free(work);
    free(memory);
}
