// nanoembed for C++17: handles that free themselves, spans, results that are a value or an error. Header only, over
// nanoembed.h; needs the library with `_new` functions (not --no-std).
//
//   auto file = nanoembed::source::buffer(bytes.data(), bytes.size());
//   auto model = nanoembed::model::open(file);
//   if (!model) return fail(model.error().text());
//   auto workspace = model->make_workspace();
//   std::vector<float> vector(model->dimensions());
//   auto done = model->embed(*workspace, "a text", vector);
//
// With NANOEMBED_EXCEPTIONS defined, `value()` of a result that is an error throws it; without, that calls std::abort.

#ifndef NANOEMBED_HPP
#define NANOEMBED_HPP

#if __cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L)
#error "nanoembed.hpp needs C++17: compile with -std=c++17, or use nanoembed.h"
#else

#include "nanoembed.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef NANOEMBED_EXCEPTIONS
#include <stdexcept>
#endif

namespace nanoembed {

/// An error, and its offset in the file.
class error {
public:
    explicit error(const nanoembed_error &why) noexcept : why_(why) {}
    nanoembed_status status() const noexcept { return why_.status; }
    /// The byte of the file or text; `NANOEMBED_NO_OFFSET` where it is none.
    std::uint64_t offset() const noexcept { return why_.offset; }
    /// How many bytes or elements would have sufficed, or 0.
    std::uint64_t needed() const noexcept { return why_.needed; }
    /// The key, tensor or parameter at fault, or nothing.
    std::string at_fault() const { return why_.name; }
    const char *message() const noexcept { return nanoembed_status_message(why_.status); }
    const char *name() const noexcept { return nanoembed_status_name(why_.status); }
    /// `byte OFFSET: MESSAGE: NAME`
    std::string text() const {
        char buffer[256] = "";
        const auto status = nanoembed_error_describe(&why_, buffer, sizeof buffer);
        return status == NANOEMBED_OK ? buffer : message();
    }

private:
    nanoembed_error why_;
};

#ifdef NANOEMBED_EXCEPTIONS
/// An error as an exception.
class exception : public std::runtime_error {
public:
    explicit exception(const nanoembed::error &why) : std::runtime_error(why.text()), why_(why) {}
    const nanoembed::error &why() const noexcept { return why_; }

private:
    nanoembed::error why_;
};
#endif

/// A value or an error.
template <typename T> class result {
public:
    result(T value) : value_(std::move(value)) {}
    result(nanoembed::error why) : error_(std::move(why)) {}

    explicit operator bool() const noexcept { return value_.has_value(); }
    bool has_value() const noexcept { return value_.has_value(); }
    const nanoembed::error &error() const { return *error_; }

    T &value() & { return require(), *value_; }
    const T &value() const & { return require(), *value_; }
    T &&value() && { return require(), std::move(*value_); }
    T &operator*() { return *value_; }
    const T &operator*() const { return *value_; }
    T *operator->() { return &*value_; }
    const T *operator->() const { return &*value_; }

private:
    void require() const {
        if (!value_) {
#ifdef NANOEMBED_EXCEPTIONS
            throw exception(*error_);
#else
            std::abort();
#endif
        }
    }

    std::optional<T> value_;
    std::optional<nanoembed::error> error_;
};

/// Nothing, where only success counts.
struct done {};

/// Several things that lie elsewhere; `std::span` came with C++20.
template <typename T> class span {
public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <typename C, typename = std::enable_if_t<
                              std::is_convertible_v<decltype(std::declval<C &>().data()), T *>>>
    constexpr span(C &container) noexcept : data_(container.data()), size_(container.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t at) const { return data_[at]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

namespace detail {

/// A struct with its size and zeros.
template <typename T> T sized() noexcept {
    T made{};
    made.size = sizeof made;
    return made;
}

template <typename T> result<T> answer(nanoembed_status status, nanoembed_error error, T value) {
    if (status == NANOEMBED_OK) return result<T>(std::move(value));
    // Calls without a file say no more than their status.
    if (error.status != status) {
        error = sized<nanoembed_error>();
        error.status = status;
        error.offset = NANOEMBED_NO_OFFSET;
    }
    return result<T>(nanoembed::error(error));
}

/// A text that `call` writes into the room that it gets, which grows until the text fits.
template <typename F> result<std::string> text(F call) {
    std::string room(256, '\0');
    auto error = detail::sized<nanoembed_error>();
    for (;;) {
        std::size_t bytes = 0;
        const nanoembed_status status = call(room, bytes, error);
        if (status == NANOEMBED_BUFFER_TOO_SMALL && room.size() < std::size_t(1) << 28) {
            room.resize(room.size() * 4);
            continue;
        }
        room.resize(bytes);
        return answer(status, error, std::move(room));
    }
}

/// A handle that is freed once, by whoever has it last.
template <typename T, void (*Free)(T *)> class handle {
public:
    explicit handle(T *pointer) noexcept : pointer_(pointer) {}
    handle(handle &&other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
    handle &operator=(handle &&other) noexcept {
        if (this != &other) {
            Free(pointer_);
            pointer_ = std::exchange(other.pointer_, nullptr);
        }
        return *this;
    }
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;
    ~handle() { Free(pointer_); }
    T *get() const noexcept { return pointer_; }

private:
    T *pointer_;
};

} // namespace detail

/// Where a file's bytes are. They stay the caller's.
class source {
public:
    static source buffer(const void *data, std::size_t bytes) noexcept {
        source made;
        made.source_.data = static_cast<const std::uint8_t *>(data);
        made.source_.length = bytes;
        return made;
    }
    static source callback(nanoembed_read_at read_at, void *context, std::uint64_t bytes) noexcept {
        source made;
        made.source_.read_at = read_at;
        made.source_.context = context;
        made.source_.length = bytes;
        return made;
    }
    const nanoembed_source *get() const noexcept { return &source_; }

private:
    friend class mapped_file;
    nanoembed_source source_ = detail::sized<nanoembed_source>();
};

/// A file that is mapped into memory, as long as handles over it are used.
class mapped_file {
public:
    static result<mapped_file> open(const char *path) {
        mapped_file made;
        const auto status = nanoembed_source_from_file(path, &made.source_.source_);
        return detail::answer(status, {}, std::move(made));
    }
    mapped_file(mapped_file &&other) noexcept : source_(std::exchange(other.source_, {})) {}
    mapped_file &operator=(mapped_file &&other) noexcept {
        std::swap(source_, other.source_);
        return *this;
    }
    mapped_file(const mapped_file &) = delete;
    mapped_file &operator=(const mapped_file &) = delete;
    ~mapped_file() { nanoembed_source_close(&source_.source_); }

    operator const source &() const noexcept { return source_; }
    span<const std::uint8_t> bytes() const noexcept {
        return {source_.get()->data, static_cast<std::size_t>(source_.get()->length)};
    }

private:
    mapped_file() = default;
    source source_;
};

/// Checks that a file's bytes are those that were written; true if it carries checksums that say so, false if only its
/// structure could be checked.
inline result<bool> verify(const source &file) {
    std::vector<std::max_align_t> memory((nanoembed_verify_bytes() + 65536) / sizeof(std::max_align_t) + 1);
    std::uint32_t has_checksum = 0;
    auto error = detail::sized<nanoembed_error>();
    const auto status =
        nanoembed_verify(file.get(), reinterpret_cast<std::uint8_t *>(memory.data()),
                         memory.size() * sizeof(std::max_align_t), nullptr, nullptr, &has_checksum, &error);
    return detail::answer(status, error, has_checksum == 1);
}

/// The scratch memory of one thread that embeds.
class workspace {
public:
    nanoembed_workspace *get() const noexcept { return handle_.get(); }

private:
    friend class model;
    explicit workspace(nanoembed_workspace *pointer) : handle_(pointer) {}
    detail::handle<nanoembed_workspace, nanoembed_workspace_free> handle_;
};

/// A vector most of whose elements are 0: weights for some tokens of the vocabulary, in ascending order.
struct sparse_vector {
    std::vector<std::uint32_t> ids;
    std::vector<float> weights;
};

/// A sentence embedder. Threads may share it, each with a workspace of its own.
class model {
public:
    static result<model> open(const source &file, nanoembed_model_options options = {}) {
        options.size = sizeof options;
        nanoembed_model *made = nullptr;
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_model_new(file.get(), &options, &made, &error);
        return detail::answer(status, error, model(made));
    }

    /// The model at a path: a file, or a folder of Hugging Face. What asks for more than the limits
    /// is refused, as are options that such models do not honour: see `nanoembed_model_new`.
    static result<model> open(const char *path, nanoembed_model_options options = {},
                              nanoembed_limits limits = {}) {
        options.size = sizeof options;
        limits.size = sizeof limits;
        nanoembed_model *made = nullptr;
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_model_open_within(path, &options, &limits, &made, &error);
        return detail::answer(status, error, model(made));
    }

    /// The fingerprint of the space of the vectors of the model in a file: see `nanoembed_fingerprint`.
    static result<std::string> fingerprint(const source &file) {
        char digits[NANOEMBED_FINGERPRINT_BYTES] = "";
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_fingerprint(file.get(), digits, sizeof digits, &error);
        return detail::answer(status, error, std::string(digits));
    }

    /// The unknown settings that are ignored, a sentence each: those that the options name in
    /// `allow_unknown`.
    std::vector<std::string> warnings() const {
        std::vector<std::string> all;
        while (const char *warning = nanoembed_model_warning(handle_.get(), all.size())) {
            all.emplace_back(warning);
        }
        return all;
    }

    nanoembed_model_info info() const noexcept {
        auto info = detail::sized<nanoembed_model_info>();
        const auto status = nanoembed_model_get_info(handle_.get(), &info);
        return status == NANOEMBED_OK ? info : nanoembed_model_info{};
    }
    std::size_t dimensions() const noexcept { return info().dimensions; }

    result<workspace> make_workspace() const {
        nanoembed_workspace *made = nullptr;
        const auto status = nanoembed_workspace_new(handle_.get(), &made);
        return detail::answer(status, {}, workspace(made));
    }

    /// Chooses the prompt that stands before the texts that are embedded with `scratch`.
    result<done> set_prompt(workspace &scratch, nanoembed_prompt prompt, std::string_view name = {}) const {
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_workspace_set_prompt(handle_.get(), scratch.get(), prompt, name.data(),
                                                           name.size(), &error);
        return detail::answer(status, error, done{});
    }

    /// How well a document answers a query, by a cross-encoder, or by late interaction.
    result<float> score(workspace &scratch, std::string_view query, std::string_view document) const {
        float score = 0;
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_score(handle_.get(), scratch.get(), query.data(), query.size(), document.data(),
                                            document.size(), &score, &error);
        return detail::answer(status, error, score);
    }

    /// The token ids of a text, special tokens included: as many as the model takes, or `most`.
    result<std::vector<std::uint32_t>> tokenize(std::string_view text, std::size_t most = SIZE_MAX) const {
        std::vector<std::uint32_t> ids(text.size() + 2 < most ? text.size() + 2 : most);
        auto tokenized = detail::sized<nanoembed_tokenized>();
        auto error = detail::sized<nanoembed_error>();
        nanoembed_status status = NANOEMBED_OK;
        // Rules may make a text longer: the first call tells how many ids there are.
        for (bool again = true; again;) {
            status = nanoembed_tokenize(handle_.get(), text.data(), text.size(), ids.data(), ids.size(), &tokenized,
                                        &error);
            const std::size_t all = tokenized.total < most ? tokenized.total : most;
            again = status == NANOEMBED_OK && all > ids.size();
            ids.resize(again ? all : tokenized.tokens);
        }
        return detail::answer(status, error, std::move(ids));
    }

    /// The embedding of a text, into `dimensions()` floats.
    result<nanoembed_tokenized> embed(workspace &scratch, std::string_view text, span<float> out) const {
        auto tokenized = detail::sized<nanoembed_tokenized>();
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_embed_text(handle_.get(), scratch.get(), text.data(), text.size(),
                                                 out.data(), out.size(), &tokenized, &error);
        return detail::answer(status, error, tokenized);
    }

    result<done> embed(workspace &scratch, span<const std::uint32_t> ids, span<float> out) const {
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_embed_ids(handle_.get(), scratch.get(), ids.data(), ids.size(), out.data(),
                                                out.size(), &error);
        return detail::answer(status, error, done{});
    }

    /// The embeddings of a column of strings, `dimensions()` floats and a row status each.
    result<done> embed(workspace &scratch, nanoembed_strings strings, span<float> out,
                       span<nanoembed_row_status> rows) const {
        strings.size = sizeof strings;
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_embed_strings(handle_.get(), scratch.get(), &strings, out.data(), out.size(),
                                                    rows.data(), rows.size(), &error);
        return detail::answer(status, error, done{});
    }

    /// The vectors that the model makes.
    nanoembed_model_vectors vectors() const noexcept {
        auto vectors = detail::sized<nanoembed_model_vectors>();
        const auto status = nanoembed_model_get_vectors(handle_.get(), &vectors);
        return status == NANOEMBED_OK ? vectors : nanoembed_model_vectors{};
    }

    /// The sparse vector of a text.
    result<sparse_vector> embed_sparse(workspace &scratch, std::string_view text) const {
        sparse_vector found;
        auto error = detail::sized<nanoembed_error>();
        nanoembed_status status = NANOEMBED_OK;
        std::size_t count = 256;
        // The second time there is as much room as the first has asked for.
        for (int attempt = 0; attempt < 2; ++attempt) {
            found.ids.resize(count);
            found.weights.resize(count);
            status = nanoembed_embed_sparse(handle_.get(), scratch.get(), text.data(), text.size(), found.ids.data(),
                                            found.weights.data(), count, &count, nullptr, &error);
            if (status != NANOEMBED_BUFFER_TOO_SMALL) break;
            count = static_cast<std::size_t>(error.needed);
        }
        found.ids.resize(count);
        found.weights.resize(count);
        return detail::answer(status, error, std::move(found));
    }

    /// The vectors of the tokens of a text, `vectors().multi_dimensions` floats each, one after the other.
    result<std::vector<float>> embed_multi(workspace &scratch, nanoembed_side side, std::string_view text) const {
        const std::size_t dimensions = vectors().multi_dimensions;
        std::vector<float> found(dimensions * info().workspace_tokens);
        std::size_t count = 0;
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_embed_multi(handle_.get(), scratch.get(), side, text.data(), text.size(),
                                                  found.data(), found.size(), &count, nullptr, &error);
        found.resize(count * dimensions);
        return detail::answer(status, error, std::move(found));
    }

    const nanoembed_model *get() const noexcept { return handle_.get(); }

private:
    explicit model(nanoembed_model *pointer) : handle_(pointer) {}
    detail::handle<nanoembed_model, nanoembed_model_free> handle_;
};

/// The cosine of two vectors of one length.
inline float cosine(span<const float> a, span<const float> b) noexcept {
    float cosine = 0;
    const auto length = a.size() < b.size() ? a.size() : b.size();
    return nanoembed_cosine(a.data(), b.data(), length, &cosine) == NANOEMBED_OK ? cosine : 0;
}

/// How well a document answers a query by the vectors of their tokens, of `dimensions` floats each.
inline float max_sim(span<const float> query, span<const float> document, std::size_t dimensions) noexcept {
    float score = 0;
    const auto rows = [dimensions](std::size_t floats) { return dimensions == 0 ? 0 : floats / dimensions; };
    const auto status = nanoembed_max_sim(query.data(), rows(query.size()), document.data(), rows(document.size()),
                                          dimensions, &score);
    return status == NANOEMBED_OK ? score : 0;
}

/// The `most` vectors that have the largest dot products with `query`, best first; `vectors` holds them one after the other.
inline result<std::vector<nanoembed_scored>> top_k(span<const float> query, span<const float> vectors, std::size_t most) {
    std::vector<nanoembed_scored> best(most);
    std::size_t found = 0;
    const auto rows = query.empty() ? 0 : vectors.size() / query.size();
    const auto status =
        nanoembed_top_k(query.data(), query.size(), vectors.data(), rows, best.data(), best.size(), &found);
    best.resize(found);
    return detail::answer(status, {}, std::move(best));
}

/// The word vectors of a `.fifu` file. Threads may share them.
class words {
public:
    static result<words> open(const source &file, nanoembed_words_options options = {}) {
        options.size = sizeof options;
        nanoembed_words *made = nullptr;
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_words_new(file.get(), &options, &made, &error);
        return detail::answer(status, error, words(made));
    }

    std::size_t dimensions() const noexcept { return plan().dimensions; }
    std::size_t size() const noexcept { return plan().words; }

    /// The vector of a word, or what its n-grams add up to; the status NANOEMBED_NOT_FOUND if there is neither.
    result<std::vector<float>> vector(std::string_view word) const {
        const auto needs = plan();
        std::vector<float> out(needs.dimensions), scratch(needs.vector_floats);
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_words_vector(handle_.get(), word.data(), word.size(), scratch.data(),
                                                   scratch.size(), out.data(), out.size(), nullptr, &error);
        return detail::answer(status, error, std::move(out));
    }

    /// The `most` words whose vectors are nearest to `query`, the best first, but none of `skip`.
    result<std::vector<nanoembed_scored>> similar(span<const float> query, std::size_t most,
                                                  span<const std::uint32_t> skip = {}) const {
        std::vector<std::max_align_t> memory(plan().similar_bytes / sizeof(std::max_align_t) + 1);
        std::vector<nanoembed_scored> best(most);
        std::size_t found = 0;
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_words_similar(
            handle_.get(), query.data(), query.size(), skip.data(), skip.size(),
            reinterpret_cast<std::uint8_t *>(memory.data()), memory.size() * sizeof(std::max_align_t), best.data(),
            best.size(), &found, &error);
        best.resize(status == NANOEMBED_OK ? found : 0);
        return detail::answer(status, error, std::move(best));
    }

    /// The query of "a is to b as c is to …", for `similar`, and the rows of the three, which are usually not wanted.
    result<std::pair<std::vector<float>, std::vector<std::uint32_t>>> analogy(std::string_view a, std::string_view b,
                                                                              std::string_view c) const {
        const auto needs = plan();
        std::vector<float> query(needs.dimensions), scratch(needs.analogy_floats);
        std::vector<std::uint32_t> rows(3);
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_words_analogy(handle_.get(), a.data(), a.size(), b.data(), b.size(), c.data(),
                                                    c.size(), scratch.data(), scratch.size(), query.data(),
                                                    query.size(), rows.data(), &error);
        return detail::answer(status, error, std::make_pair(std::move(query), std::move(rows)));
    }

    /// The word of a row.
    result<std::string> word(std::uint32_t row) const {
        return detail::text([&](std::string &room, std::size_t &bytes, nanoembed_error &error) {
            return nanoembed_words_word(handle_.get(), row, room.data(), room.size(), &bytes, &error);
        });
    }

    const nanoembed_words *get() const noexcept { return handle_.get(); }

private:
    explicit words(nanoembed_words *pointer) : handle_(pointer) {}
    nanoembed_words_plan plan() const noexcept {
        auto plan = detail::sized<nanoembed_words_plan>();
        const auto status = nanoembed_words_get_plan(handle_.get(), &plan);
        return status == NANOEMBED_OK ? plan : nanoembed_words_plan{};
    }
    detail::handle<nanoembed_words, nanoembed_words_free> handle_;
};

/// The treatment of special tokens that a text spells, such as `<|im_start|>`.
enum class special_tokens : nanoembed_special_tokens {
    /// Text like any other: for what users write.
    as_text = NANOEMBED_SPECIAL_TOKENS_AS_TEXT,
    /// The tokens themselves: for prompt templates.
    as_tokens = NANOEMBED_SPECIAL_TOKENS_AS_TOKENS,
};

/// A tokenizer of any kind: texts to token ids and back. Threads may share it.
class tokenizer {
public:
    static result<tokenizer> open(const source &file) {
        nanoembed_tokenizer *made = nullptr;
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_tokenizer_new(file.get(), &made, &error);
        return detail::answer(status, error, tokenizer(made));
    }

    /// `NANOEMBED_TOKENIZER_WORDPIECE`, `_BPE` or `_SENTENCEPIECE`.
    nanoembed_tokenizer_kind kind() const noexcept { return info().kind; }
    /// The number of tokens.
    std::size_t size() const noexcept { return info().tokens; }
    /// The token that is put before every text, or `NANOEMBED_NO_TOKEN`.
    std::uint32_t begin() const noexcept { return info().begin; }
    /// The usual token that ends a text, or `NANOEMBED_NO_TOKEN`.
    std::uint32_t end() const noexcept { return info().end; }
    /// True if a sampled token ends the text.
    bool ends_text(std::uint32_t id) const noexcept { return nanoembed_tokenizer_ends_text(handle_.get(), id) != 0; }

    /// The ids of a text, with the tokens that are put around every text.
    result<std::vector<std::uint32_t>> encode(std::string_view text, special_tokens special) const {
        std::vector<std::uint32_t> ids(text.size() + 2);
        std::size_t bytes = 0;
        auto tokenized = detail::sized<nanoembed_tokenized>();
        auto error = detail::sized<nanoembed_error>();
        auto status = nanoembed_tokenizer_scratch_bytes(handle_.get(), text.data(), text.size(), &bytes);
        const std::unique_ptr<std::uint8_t[]> scratch(new std::uint8_t[bytes]);
        // Rules may make a text longer: the first call says how many ids there are.
        while (status == NANOEMBED_OK) {
            status = nanoembed_tokenizer_encode(handle_.get(), text.data(), text.size(),
                                                static_cast<nanoembed_special_tokens>(special), scratch.get(), bytes,
                                                ids.data(), ids.size(), &tokenized, &error);
            ids.resize(tokenized.total);
            if (!tokenized.truncated) break;
        }
        return detail::answer(status, error, std::move(ids));
    }

    /// The bytes that a token stands for: UTF-8 if what several tokens stand for is put together.
    result<std::string> token(std::uint32_t id) const {
        return detail::text([&](std::string &room, std::size_t &bytes, nanoembed_error &) {
            return nanoembed_tokenizer_token(handle_.get(), id, room.data(), room.size(), &bytes);
        });
    }

    const nanoembed_tokenizer *get() const noexcept { return handle_.get(); }

private:
    explicit tokenizer(nanoembed_tokenizer *pointer) : handle_(pointer) {}
    nanoembed_tokenizer_info info() const noexcept {
        auto info = detail::sized<nanoembed_tokenizer_info>();
        const auto status = nanoembed_tokenizer_get_info(handle_.get(), &info);
        return status == NANOEMBED_OK ? info : nanoembed_tokenizer_info{};
    }
    detail::handle<nanoembed_tokenizer, nanoembed_tokenizer_free> handle_;
};

/// The state of one text. Belongs to one thread at a time, and to the decoder that made it.
class session {
public:
    std::size_t size() const noexcept { return nanoembed_session_length(handle_.get()); }
    /// Forgets all tokens from the `length`-th on.
    result<done> truncate(std::uint32_t length) noexcept {
        return detail::answer(nanoembed_session_truncate(handle_.get(), length), {}, done{});
    }
    result<done> set_sampling(nanoembed_sampling sampling) noexcept {
        sampling.size = sizeof sampling;
        return detail::answer(nanoembed_session_set_sampling(handle_.get(), &sampling), {}, done{});
    }
    nanoembed_session *get() const noexcept { return handle_.get(); }

private:
    friend class decoder;
    explicit session(nanoembed_session *pointer) : handle_(pointer) {}
    detail::handle<nanoembed_session, nanoembed_session_free> handle_;
};

/// A model that continues texts, which come and go as token ids. Threads may share it, each with a session of its own.
class decoder {
public:
    static result<decoder> open(const source &file, nanoembed_decoder_options options = {}) {
        options.size = sizeof options;
        nanoembed_decoder *made = nullptr;
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_decoder_new(file.get(), &options, &made, &error);
        return detail::answer(status, error, decoder(made));
    }

    std::size_t vocabulary() const noexcept { return plan().vocabulary; }
    std::size_t positions() const noexcept { return plan().positions; }

    result<session> make_session() const {
        nanoembed_session *made = nullptr;
        const auto status = nanoembed_session_new(handle_.get(), &made);
        return detail::answer(status, {}, session(made));
    }

    /// Takes tokens through the model after those of the session.
    result<done> feed(session &text, span<const std::uint32_t> ids) const {
        auto error = detail::sized<nanoembed_error>();
        const auto status = nanoembed_session_feed(handle_.get(), text.get(), ids.data(), ids.size(), &error);
        return detail::answer(status, error, done{});
    }

    /// Chooses the next token and feeds it.
    result<std::uint32_t> next(session &text) const {
        std::uint32_t id = 0;
        auto error = detail::sized<nanoembed_error>();
        auto status = nanoembed_session_sample(text.get(), &id);
        if (status == NANOEMBED_OK) status = nanoembed_session_feed(handle_.get(), text.get(), &id, 1, &error);
        return detail::answer(status, error, id);
    }

    /// The logits after the last token.
    result<std::vector<float>> logits(const session &text) const {
        std::vector<float> out(vocabulary());
        const auto status = nanoembed_session_logits(text.get(), out.data(), out.size());
        return detail::answer(status, {}, std::move(out));
    }

    const nanoembed_decoder *get() const noexcept { return handle_.get(); }

private:
    explicit decoder(nanoembed_decoder *pointer) : handle_(pointer) {}
    nanoembed_decoder_plan plan() const noexcept {
        auto plan = detail::sized<nanoembed_decoder_plan>();
        const auto status = nanoembed_decoder_get_plan(handle_.get(), &plan);
        return status == NANOEMBED_OK ? plan : nanoembed_decoder_plan{};
    }
    detail::handle<nanoembed_decoder, nanoembed_decoder_free> handle_;
};

} // namespace nanoembed

#endif // C++17
#endif
