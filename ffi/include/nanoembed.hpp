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

/// What went wrong, and at which byte of the file.
class error {
public:
    error(nanoembed_status status, std::uint64_t offset) : status_(status), offset_(offset) {}
    nanoembed_status status() const noexcept { return status_; }
    std::uint64_t offset() const noexcept { return offset_; }
    const char *message() const noexcept { return nanoembed_status_message(status_); }
    const char *name() const noexcept { return nanoembed_status_name(status_); }
    /// `byte OFFSET: MESSAGE`
    std::string text() const { return "byte " + std::to_string(offset_) + ": " + message(); }

private:
    nanoembed_status status_;
    std::uint64_t offset_;
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

inline const std::uint8_t *bytes(std::string_view text) noexcept {
    return reinterpret_cast<const std::uint8_t *>(text.data());
}

template <typename T> result<T> answer(nanoembed_status status, const nanoembed_error &error, T value) {
    if (status == NANOEMBED_OK) return result<T>(std::move(value));
    return result<T>(nanoembed::error(status, error.status == status ? error.offset : 0));
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
        nanoembed_source_from_buffer(static_cast<const std::uint8_t *>(data), bytes, &made.source_);
        return made;
    }
    static source callback(nanoembed_read_at read_at, void *context, std::uint64_t bytes) noexcept {
        source made;
        nanoembed_source_from_callback(read_at, context, bytes, &made.source_);
        return made;
    }
    const nanoembed_source *get() const noexcept { return &source_; }

private:
    nanoembed_source source_{};
};

/// The scratch memory of one thread that embeds.
class workspace {
public:
    nanoembed_workspace *get() const noexcept { return handle_.get(); }

private:
    friend class model;
    explicit workspace(nanoembed_workspace *pointer) : handle_(pointer) {}
    detail::handle<nanoembed_workspace, nanoembed_workspace_free> handle_;
};

/// A sentence embedder. Threads may share it, each with a workspace of its own.
class model {
public:
    static result<model> open(const source &file, const nanoembed_model_options &options = {}) {
        nanoembed_model *made = nullptr;
        nanoembed_error error{};
        const auto status = nanoembed_model_new(file.get(), &options, &made, &error);
        return detail::answer(status, error, model(made));
    }

    nanoembed_model_info info() const noexcept {
        nanoembed_model_info info{};
        nanoembed_model_get_info(handle_.get(), &info);
        return info;
    }
    std::size_t dimensions() const noexcept { return info().dimensions; }

    result<workspace> make_workspace() const {
        nanoembed_workspace *made = nullptr;
        const auto status = nanoembed_workspace_new(handle_.get(), &made);
        return detail::answer(status, nanoembed_error{}, workspace(made));
    }

    /// The token ids of a text, special tokens included; all of them unless `most` says otherwise.
    result<std::vector<std::uint32_t>> tokenize(std::string_view text, std::size_t most = SIZE_MAX) const {
        std::vector<std::uint32_t> ids(text.size() + 2 < most ? text.size() + 2 : most);
        nanoembed_tokenized tokenized{};
        nanoembed_error error{};
        const auto status = nanoembed_tokenize(handle_.get(), detail::bytes(text), text.size(), ids.data(),
                                               ids.size(), &tokenized, &error);
        ids.resize(tokenized.tokens);
        return detail::answer(status, error, std::move(ids));
    }

    /// The embedding of a text, into `dimensions()` floats.
    result<nanoembed_tokenized> embed(const workspace &scratch, std::string_view text, span<float> out) const {
        nanoembed_tokenized tokenized{};
        nanoembed_error error{};
        const auto status = nanoembed_embed_text(handle_.get(), scratch.get(), detail::bytes(text), text.size(),
                                                 out.data(), out.size(), &tokenized, &error);
        return detail::answer(status, error, tokenized);
    }

    result<done> embed(const workspace &scratch, span<const std::uint32_t> ids, span<float> out) const {
        nanoembed_error error{};
        const auto status = nanoembed_embed_ids(handle_.get(), scratch.get(), ids.data(), ids.size(), out.data(),
                                                out.size(), &error);
        return detail::answer(status, error, done{});
    }

    /// The embeddings of a column of strings, `dimensions()` floats and a row status each.
    result<done> embed(const workspace &scratch, const nanoembed_strings &strings, span<float> out,
                       span<nanoembed_row_status> rows) const {
        nanoembed_error error{};
        const auto status = nanoembed_embed_strings(handle_.get(), scratch.get(), &strings, out.data(), out.size(),
                                                    rows.data(), rows.size(), &error);
        return detail::answer(status, error, done{});
    }

    const nanoembed_model *get() const noexcept { return handle_.get(); }

private:
    explicit model(nanoembed_model *pointer) : handle_(pointer) {}
    detail::handle<nanoembed_model, nanoembed_model_free> handle_;
};

/// The cosine of two vectors of one length.
inline float cosine(span<const float> a, span<const float> b) noexcept {
    float cosine = 0;
    nanoembed_cosine(a.data(), b.data(), a.size() < b.size() ? a.size() : b.size(), &cosine);
    return cosine;
}

/// The word vectors of a `.fifu` file. Threads may share them.
class words {
public:
    static result<words> open(const source &file, const nanoembed_words_options &options = {}) {
        nanoembed_words *made = nullptr;
        nanoembed_error error{};
        const auto status = nanoembed_words_new(file.get(), &options, &made, &error);
        return detail::answer(status, error, words(made));
    }

    std::size_t dimensions() const noexcept { return plan().dimensions; }
    std::size_t size() const noexcept { return plan().words; }

    /// The vector of a word, or what its n-grams add up to; the status NANOEMBED_NOT_FOUND if there is neither.
    result<std::vector<float>> vector(std::string_view word) const {
        const auto needs = plan();
        std::vector<float> out(needs.dimensions), scratch(needs.vector_floats);
        nanoembed_error error{};
        const auto status = nanoembed_words_vector(handle_.get(), detail::bytes(word), word.size(), scratch.data(),
                                                   scratch.size(), out.data(), out.size(), nullptr, &error);
        return detail::answer(status, error, std::move(out));
    }

    /// The `most` words whose vectors are nearest to `query`, the best first, but none of `skip`.
    result<std::vector<nanoembed_scored>> similar(span<const float> query, std::size_t most,
                                                  span<const std::uint32_t> skip = {}) const {
        std::vector<std::max_align_t> memory(plan().similar_bytes / sizeof(std::max_align_t) + 1);
        std::vector<nanoembed_scored> best(most);
        std::size_t found = 0;
        nanoembed_error error{};
        const auto status = nanoembed_words_similar(
            handle_.get(), query.data(), query.size(), skip.data(), skip.size(),
            reinterpret_cast<std::uint8_t *>(memory.data()), memory.size() * sizeof(std::max_align_t), best.data(),
            best.size(), &found, &error);
        best.resize(status == NANOEMBED_OK ? found : 0);
        return detail::answer(status, error, std::move(best));
    }

    /// The word of a row.
    result<std::string> word(std::uint32_t row) const {
        std::string buffer(256, '\0');
        std::size_t length = 0;
        nanoembed_error error{};
        const auto status =
            nanoembed_words_word(handle_.get(), row, reinterpret_cast<std::uint8_t *>(buffer.data()),
                                 buffer.size(), &length, &error);
        buffer.resize(length);
        return detail::answer(status, error, std::move(buffer));
    }

    const nanoembed_words *get() const noexcept { return handle_.get(); }

private:
    explicit words(nanoembed_words *pointer) : handle_(pointer) {}
    nanoembed_words_plan plan() const noexcept {
        nanoembed_words_plan plan{};
        nanoembed_words_get_plan(handle_.get(), &plan);
        return plan;
    }
    detail::handle<nanoembed_words, nanoembed_words_free> handle_;
};

/// What special tokens become that a text spells, such as `<|im_start|>`.
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
        nanoembed_error error{};
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
    /// Whether a token that was sampled says that the model has finished.
    bool ends_text(std::uint32_t id) const noexcept { return nanoembed_tokenizer_ends_text(handle_.get(), id) != 0; }

    /// The ids of a text, with the tokens that are put around every text.
    result<std::vector<std::uint32_t>> encode(std::string_view text, special_tokens special) const {
        std::vector<std::uint32_t> ids(text.size() + 2);
        std::size_t bytes = 0;
        nanoembed_tokenized tokenized{};
        nanoembed_error error{};
        auto status = nanoembed_tokenizer_scratch_bytes(handle_.get(), detail::bytes(text), text.size(), &bytes);
        const std::unique_ptr<std::uint8_t[]> scratch(new std::uint8_t[bytes]);
        // Rules may make a text longer: the first call says how many ids there are.
        while (status == NANOEMBED_OK) {
            status = nanoembed_tokenizer_encode(handle_.get(), detail::bytes(text), text.size(),
                                                static_cast<nanoembed_special_tokens>(special), scratch.get(), bytes,
                                                ids.data(), ids.size(), &tokenized, &error);
            ids.resize(tokenized.total);
            if (!tokenized.truncated) break;
        }
        return detail::answer(status, error, std::move(ids));
    }

    /// The bytes that a token stands for: UTF-8 if what several tokens stand for is put together.
    result<std::string> token(std::uint32_t id) const {
        std::string out(512, '\0');
        std::size_t bytes = 0;
        const auto status = nanoembed_tokenizer_token(handle_.get(), id, reinterpret_cast<std::uint8_t *>(&out[0]),
                                                      out.size(), &bytes);
        out.resize(bytes);
        return detail::answer(status, {}, std::move(out));
    }

    const nanoembed_tokenizer *get() const noexcept { return handle_.get(); }

private:
    explicit tokenizer(nanoembed_tokenizer *pointer) : handle_(pointer) {}
    nanoembed_tokenizer_info info() const noexcept {
        nanoembed_tokenizer_info info{};
        nanoembed_tokenizer_get_info(handle_.get(), &info);
        return info;
    }
    detail::handle<nanoembed_tokenizer, nanoembed_tokenizer_free> handle_;
};

/// What one text has come to. Belongs to one thread at a time, and to the decoder that made it.
class session {
public:
    std::size_t size() const noexcept { return nanoembed_session_length(handle_.get()); }
    /// Forgets all tokens from the `length`-th on.
    void truncate(std::uint32_t length) noexcept { nanoembed_session_truncate(handle_.get(), length); }
    result<done> set_sampling(const nanoembed_sampling &sampling) noexcept {
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
    static result<decoder> open(const source &file, const nanoembed_decoder_options &options = {}) {
        nanoembed_decoder *made = nullptr;
        nanoembed_error error{};
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

    /// Takes tokens through the model behind those of the session.
    result<done> feed(session &text, span<const std::uint32_t> ids) const {
        nanoembed_error error{};
        const auto status = nanoembed_session_feed(handle_.get(), text.get(), ids.data(), ids.size(), &error);
        return detail::answer(status, error, done{});
    }

    /// Chooses the next token and feeds it.
    result<std::uint32_t> next(session &text) const {
        std::uint32_t id = 0;
        nanoembed_error error{};
        auto status = nanoembed_session_sample(text.get(), &id);
        if (status == NANOEMBED_OK) status = nanoembed_session_feed(handle_.get(), text.get(), &id, 1, &error);
        return detail::answer(status, error, id);
    }

    /// The logits behind the last token.
    result<std::vector<float>> logits(const session &text) const {
        std::vector<float> out(vocabulary());
        const auto status = nanoembed_session_logits(text.get(), out.data(), out.size());
        return detail::answer(status, {}, std::move(out));
    }

    const nanoembed_decoder *get() const noexcept { return handle_.get(); }

private:
    explicit decoder(nanoembed_decoder *pointer) : handle_(pointer) {}
    nanoembed_decoder_plan plan() const noexcept {
        nanoembed_decoder_plan plan{};
        nanoembed_decoder_get_plan(handle_.get(), &plan);
        return plan;
    }
    detail::handle<nanoembed_decoder, nanoembed_decoder_free> handle_;
};

} // namespace nanoembed

#endif
