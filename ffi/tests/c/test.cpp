// Every class of nanoembed.hpp, with and without exceptions.
//
//   test MODEL.weights WORDS.fifu LLAMA.gguf BPE.amb PIECES.model FOLDER
//
// FOLDER is a model whose tokenizer writes "½" as three tokens.

#include <nanoembed.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

static int checks, failures;
#define CHECK(condition)                                                                            \
    do {                                                                                            \
        checks++;                                                                                   \
        if (!(condition)) failures++, std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    } while (0)

static std::vector<char> load(const char *path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// A finalfusion file with one word of so many letters, and its vector of one number.
static std::vector<char> one_word(std::uint32_t letters) {
    std::vector<char> file{'F', 'i', 'F', 'u'};
    const auto put = [&file](std::uint64_t number, int bytes) {
        for (int at = 0; at < bytes; at++) file.push_back(static_cast<char>(number >> 8 * at & 255));
    };
    put(0, 4), put(2, 4), put(1, 4), put(2, 4);
    put(1, 4), put(8 + 4 + letters, 8), put(1, 8), put(letters, 4);
    file.insert(file.end(), letters, 'a');
    const std::size_t padding = (4 - (file.size() + 28) % 4) % 4;
    put(2, 4), put(8 + 4 + 4 + padding + 4, 8), put(1, 8), put(1, 4), put(10, 4), put(0, static_cast<int>(padding));
    put(0x3f800000, 4);
    return file;
}

int main(int count, char **arguments) {
    if (count != 7) return 2;
    const auto bytes = load(arguments[1]), word_bytes = load(arguments[2]);
    auto model = nanoembed::model::open(nanoembed::source::buffer(bytes.data(), bytes.size()));
    CHECK(model.has_value());
    CHECK(model->dimensions() == 384);
    const auto fingerprint = nanoembed::model::fingerprint(nanoembed::source::buffer(bytes.data(), bytes.size()));
    CHECK(fingerprint && fingerprint->size() == 32 &&
          fingerprint->find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(!nanoembed::model::fingerprint(nanoembed::source::buffer(word_bytes.data(), word_bytes.size())));
    auto moved = std::move(model).value();
    const nanoembed::model other = std::move(moved);

    auto ids = other.tokenize("How do I log in?");
    CHECK(ids && ids->size() == 8 && (*ids)[1] == 2129);
    CHECK(other.tokenize("How do I log in?", 4)->size() == 4);
    CHECK(other.tokenize("a\xff").error().status() == NANOEMBED_INVALID_UTF8);
    CHECK(other.tokenize("a\xff").error().offset() == 1);

    auto workspace = other.make_workspace();
    std::vector<float> one(384), two(384), columns(2 * 384);
    CHECK(other.embed(*workspace, "How do I log in?", one)->tokens == 8);
    CHECK(other.embed(*workspace, nanoembed::span<const std::uint32_t>(*ids), two).has_value());
    CHECK(one == two && std::fabs(nanoembed::cosine(one, two) - 1) < 1e-6f);
    const std::int32_t offsets[] = {0, 16, 19};
    nanoembed_strings strings{};
    strings.offsets = offsets;
    strings.data = "How do I log in?log";
    strings.data_bytes = 19;
    strings.length = 2;
    std::vector<nanoembed_row_status> rows(2, 9);
    CHECK(other.embed(*workspace, strings, columns, rows).has_value());
    CHECK(rows[0] == NANOEMBED_ROW_OK && rows[1] == NANOEMBED_ROW_OK);
    CHECK(nanoembed::cosine(nanoembed::span<const float>(columns.data(), 384), one) > 0.999999f);
    const auto failed = other.embed(*workspace, "text", nanoembed::span<float>(one.data(), 3));
    CHECK(!failed && std::strcmp(failed.error().name(), "buffer_too_small") == 0 && failed.error().needed() == 384);
    nanoembed_model_options odd{};
    odd.tokens = 1;
    CHECK(nanoembed::model::open(nanoembed::source::buffer(bytes.data(), bytes.size()), odd).error().at_fault() == "tokens");
    CHECK(nanoembed::model::open(arguments[1], odd).error().at_fault() == "tokens");
    odd.tokens = 0;
    odd.activations = NANOEMBED_ACTIVATIONS_FIXED; // by path, models have memory of their own
    CHECK(nanoembed::model::open(arguments[1], odd).error().at_fault() == "activations");
    odd.activations = NANOEMBED_ACTIVATIONS_FLOAT;
    const auto in_floats = nanoembed::model::open(arguments[1], odd);
    CHECK(in_floats && in_floats->warnings().empty());
    const char *const names[] = {"is_matryoshka", nullptr};
    odd.allow_unknown = names;
    odd.allow_unknown_count = 1; // of settings that this model does not have
    CHECK(nanoembed::model::open(arguments[1], odd)->warnings().empty());
    odd.allow_unknown_count = 2;
    CHECK(nanoembed::model::open(arguments[1], odd).error().at_fault() == "allow_unknown");
    CHECK(in_floats && in_floats->info().quantized == 0 && nanoembed::model::open(arguments[1])->info().quantized == 1);
    const auto mapped = nanoembed::mapped_file::open(arguments[1]);
    CHECK(mapped && mapped->bytes().size() == bytes.size() && *nanoembed::verify(*mapped));
    CHECK(!nanoembed::mapped_file::open("no/such/file"));
    const auto near = nanoembed::top_k(one, columns, 2);
    CHECK(near && near->size() == 2 && (*near)[0].row == 0 && (*near)[0].score > 0.999f);
    auto wrong = nanoembed::model::open(nanoembed::source::buffer("nonsense", 8));
    CHECK(!wrong && wrong.error().status() == NANOEMBED_BAD_MAGIC);
    CHECK(wrong.error().text().find("byte 0: ") == 0);
#ifdef NANOEMBED_EXCEPTIONS
    try {
        std::move(wrong).value();
        CHECK(false);
    } catch (const nanoembed::exception &e) {
        CHECK(e.why().status() == NANOEMBED_BAD_MAGIC);
    }
#endif

    // Of any family, from its folder.
    const auto family = nanoembed::model::open("../tests/data/models/nomic_bert");
    CHECK(family && family->dimensions() == 48);
    auto scratch = family->make_workspace();
    std::vector<float> asked(48), told(48);
    CHECK(family->set_prompt(*scratch, NANOEMBED_PROMPT_QUERY).has_value());
    CHECK(family->embed(*scratch, "How do I log in?", asked).has_value());
    CHECK(family->set_prompt(*scratch, NANOEMBED_PROMPT_NONE).has_value());
    CHECK(family->embed(*scratch, "How do I log in?", told).has_value() && asked != told);
    CHECK(!family->set_prompt(*scratch, NANOEMBED_PROMPT_NAMED, "odd"));
    CHECK(family->score(*scratch, "a", "b").error().status() == NANOEMBED_OTHER_MODEL);
    const auto crossed = nanoembed::model::open("../tests/data/models/cross_encoder");
    auto pairs = crossed->make_workspace();
    const auto score = crossed->score(*pairs, "How do I reset my password?", "Click \"forgot password\" and follow the link.");
    CHECK(score && std::fabs(*score - 1.4537878f) < 1e-5f);
    CHECK(nanoembed::model::open("no/such").error().status() == NANOEMBED_CANNOT_OPEN);

    // Eight threads share the model.
    std::vector<std::vector<float>> vectors(8, std::vector<float>(384));
    std::vector<std::thread> threads;
    for (auto &vector : vectors)
        threads.emplace_back([&other, &vector] {
            auto mine = other.make_workspace();
            for (int i = 0; i < 3; i++) other.embed(*mine, "How do I log in?", vector).value();
        });
    for (auto &thread : threads) thread.join();
    for (const auto &vector : vectors) CHECK(vector == two);

    auto words = nanoembed::words::open(nanoembed::source::buffer(word_bytes.data(), word_bytes.size()));
    CHECK(words && words->size() > 100 && words->dimensions() == 32);
    const auto vector = words->vector("recomputed");
    const auto best = words->similar(*vector, 3);
    CHECK(best && best->size() == 3 && (*best)[0].score >= (*best)[1].score);
    CHECK(words->word((*best)[0].row)->find("compute") != std::string::npos);
    const auto analogy = words->analogy("compute", "computer", "print");
    CHECK(!analogy || (analogy->first.size() == 32 && analogy->second.size() == 3));
    CHECK(words->analogy("\xff", "and", "and").error().status() == NANOEMBED_INVALID_UTF8);
    CHECK(words->word(0xffffffffu).error().status() == NANOEMBED_INVALID_ARGUMENT);
    const auto long_bytes = one_word(1000);
    const auto long_words = nanoembed::words::open(nanoembed::source::buffer(long_bytes.data(), long_bytes.size()));
    CHECK(long_words && *long_words->word(0) == std::string(1000, 'a'));
    const auto stored = nanoembed::source::callback(
        [](void *, std::uint64_t, std::uint8_t *, std::size_t, std::size_t *) -> std::int32_t { return 1; }, nullptr, 99);
    CHECK(nanoembed::words::open(stored).error().status() == NANOEMBED_READ_FAILED);

    const auto llama_bytes = load(arguments[3]);
    const auto decoder = nanoembed::decoder::open(nanoembed::source::buffer(llama_bytes.data(), llama_bytes.size()));
    CHECK(decoder && decoder->vocabulary() == 64 && decoder->positions() == 96);
    auto said = decoder->make_session();
    CHECK(!decoder->next(*said) && decoder->next(*said).error().status() == NANOEMBED_INVALID_ARGUMENT);
    const std::vector<std::uint32_t> prompt{3, 1, 4, 1, 5, 9, 2, 6};
    CHECK(decoder->feed(*said, prompt).has_value() && said->size() == 8);
    // The likeliest token is the one with the largest logit.
    const auto logits = decoder->logits(*said);
    const auto next = decoder->next(*said);
    CHECK(logits && next && said->size() == 9);
    for (const float logit : *logits) CHECK(logit <= (*logits)[*next]);
    CHECK(said->truncate(8).has_value());
    CHECK(said->size() == 8 && !decoder->logits(*said));
    nanoembed_sampling sampling{};
    sampling.temperature = -1.0f;
    sampling.top_p = 1.0f;
    CHECK(said->set_sampling(sampling).error().status() == NANOEMBED_INVALID_ARGUMENT);
    sampling.temperature = 0.8f;
    CHECK(said->set_sampling(sampling).has_value());
    CHECK(!nanoembed::decoder::open(nanoembed::source::buffer("GGUFGGUF", 8)));

    const auto bpe_bytes = load(arguments[4]);
    const auto bpe = nanoembed::tokenizer::open(nanoembed::source::buffer(bpe_bytes.data(), bpe_bytes.size()));
    CHECK(bpe && bpe->kind() == NANOEMBED_TOKENIZER_BPE && bpe->size() == 5 && bpe->end() == 4);
    const auto spelled = bpe->encode("abcab", nanoembed::special_tokens::as_text);
    CHECK(spelled && *spelled == (std::vector<std::uint32_t>{4, 3}));
    CHECK(*bpe->token(4) == "abc" && bpe->token(5).error().status() == NANOEMBED_TOKEN_OUT_OF_RANGE);
    CHECK(!nanoembed::tokenizer::open(nanoembed::source::buffer(llama_bytes.data(), llama_bytes.size())));

    const auto piece_bytes = load(arguments[5]);
    const auto pieces = nanoembed::tokenizer::open(nanoembed::source::buffer(piece_bytes.data(), piece_bytes.size()));
    CHECK(pieces && pieces->kind() == NANOEMBED_TOKENIZER_SENTENCEPIECE && pieces->size() > 500);
    const auto twice = pieces->encode("the the", nanoembed::special_tokens::as_tokens);
    CHECK(twice && twice->size() == 2 && (*twice)[0] == (*twice)[1] && *pieces->token((*twice)[0]) == " the");
    CHECK(pieces->encode("", nanoembed::special_tokens::as_text)->empty());
    CHECK(pieces->token(0xffffffffu).error().status() == NANOEMBED_TOKEN_OUT_OF_RANGE);

    const auto word_pieces = nanoembed::tokenizer::open(nanoembed::source::buffer(bytes.data(), bytes.size()));
    CHECK(word_pieces && word_pieces->kind() == NANOEMBED_TOKENIZER_WORDPIECE && word_pieces->begin() == 101);
    const auto special = word_pieces->encode("hello [SEP]", nanoembed::special_tokens::as_tokens);
    CHECK(special && *special == (std::vector<std::uint32_t>{101, 7592, 102, 102}));

    const auto folder = nanoembed::model::open(arguments[6]);
    std::string halves;
    for (int at = 0; at < 20; at++) halves += "½";
    const auto grown = folder->tokenize(halves);
    CHECK(grown && grown->size() > halves.size() + 2 && grown->back() == folder->tokenize("a")->back());
    CHECK(folder->tokenize(halves, 7)->size() == 7);
    std::printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
