/* nanoembed: sentence embeddings and word vectors from files where they lie. Guide: ffi/README.md.
 *
 * Made by cbindgen from ffi/src; do not edit. The same for every function:
 *
 * - the answer is a status, 0 for success; results go to out-parameters, which come last and are written only on
 *   success;
 * - every pointer is checked: NULL where something is needed is a status, never a crash. Every pointer to several
 *   things has a length, every output a capacity; NULL is fine for none;
 * - the last parameter of functions that read files, `error`, may be NULL; on failure it gets the status and the byte
 *   of the file that is wrong;
 * - structs begin with their size, which the program sets: nanoembed_error error = {.size = sizeof error};
 * - memory is the caller's: handles lie at the front of memory that the caller lends. Nothing has to be closed, nothing
 *   is allocated but by functions called `_new`, nothing is global;
 * - no function keeps a pointer to `options`, `scratch` or `error`; sources are copied, what they point to is not.
 */

#ifndef NANOEMBED_H
#define NANOEMBED_H



#include <stddef.h>
#include <stdint.h>

// The compiler warns of a status that is not looked at.
#if defined(__GNUC__) || defined(__clang__)
#define NANOEMBED_CHECK __attribute__((warn_unused_result))
#else
#define NANOEMBED_CHECK
#endif

// The file ends in the middle of an item.
#define NANOEMBED_UNEXPECTED_END 101

// The file does not start with a known magic number.
#define NANOEMBED_BAD_MAGIC 102

// Bytes follow the end of the content.
#define NANOEMBED_TRAILING_BYTES 103

// A string is not valid UTF-8.
#define NANOEMBED_INVALID_UTF8 104

// An offset or size points outside the file or its section.
#define NANOEMBED_OUT_OF_BOUNDS 105

// Two sections or tensors share bytes.
#define NANOEMBED_OVERLAP 106

// A product of dimensions is larger than any file can be.
#define NANOEMBED_SIZE_OVERFLOW 107

// A declared size differs from the content it describes.
#define NANOEMBED_SIZE_MISMATCH 108

// A tensor has no dimensions, too many, or one of size zero.
#define NANOEMBED_BAD_DIMENSIONS 109

// The number of a data type is not one the format defines.
#define NANOEMBED_BAD_DTYPE 110

// A reserved field, an unused dimension or padding is not zero.
#define NANOEMBED_RESERVED_NOT_ZERO 111

// The file promises aligned tensors, but this one is not.
#define NANOEMBED_MISALIGNED 112

// The hash beside a tensor's name is not the hash of that name.
#define NANOEMBED_NAME_HASH_MISMATCH 113

// Two tensors or two metadata keys have the same name.
#define NANOEMBED_DUPLICATE_NAME 114

// The header's checksum does not match its bytes.
#define NANOEMBED_HEADER_CHECKSUM 115

// The tensor data's checksum does not match its bytes.
#define NANOEMBED_DATA_CHECKSUM 116

// The file's checksum does not match its bytes.
#define NANOEMBED_FILE_CHECKSUM 117

// The footer's magic number is missing.
#define NANOEMBED_BAD_FOOTER 118

// A flag is set that the format does not define.
#define NANOEMBED_UNKNOWN_FLAGS 119

// A tensor or metadata key has an empty name.
#define NANOEMBED_EMPTY_NAME 120

// A count is larger than the bytes that follow could hold.
#define NANOEMBED_BAD_COUNT 121

// A chunk has an unknown identifier, stands in the wrong place, or is not the one that the list announces.
#define NANOEMBED_BAD_CHUNK 122

// A word or n-gram stands in the vocabulary twice.
#define NANOEMBED_DUPLICATE_WORD 123

// A quantised code is larger than the number of centroids.
#define NANOEMBED_CODE_OUT_OF_RANGE 124

// The TOML is not well-formed.
#define NANOEMBED_BAD_TOML 125

// The JSON is not well-formed.
#define NANOEMBED_BAD_JSON 130

// A field is missing, given twice, or not of the type it should have.
#define NANOEMBED_BAD_FIELD 131

// The tensors do not fill the data without gaps.
#define NANOEMBED_NOT_CONTIGUOUS 132

// A quantisation has parameters that the format does not define.
#define NANOEMBED_BAD_QUANTIZATION 133

// The number of a layer's encoding is not one the format defines.
#define NANOEMBED_BAD_ENCODING 134

// The file's version is missing, or it mixes the layouts of two versions.
#define NANOEMBED_BAD_VERSION 135

// The alignment is not a power of two, or not one the format allows.
#define NANOEMBED_BAD_ALIGNMENT 136

// A quantised tensor's data does not begin with the parameters of its quantisation.
#define NANOEMBED_MISSING_QUANTIZATION 140

// This version of the format is not supported.
#define NANOEMBED_UNSUPPORTED_VERSION 201

// The file is marked as compressed, for which the format defines no method.
#define NANOEMBED_COMPRESSED 202

// The file has more tensors than this reader was built to keep.
#define NANOEMBED_TOO_MANY_TENSORS 203

// A name is longer than this reader accepts.
#define NANOEMBED_NAME_TOO_LONG 204

// The file has more metadata entries than this reader was built to keep.
#define NANOEMBED_TOO_MANY_ENTRIES 205

// None of the formats known here starts like this file.
#define NANOEMBED_UNKNOWN_FORMAT 206

// A tensor's data type cannot be used here.
#define NANOEMBED_UNSUPPORTED_DTYPE 207

// The model asks for something that is not done here.
#define NANOEMBED_UNSUPPORTED_SETTING 208

// A number is larger than any that is taken here.
#define NANOEMBED_OVER_LIMIT 209

// The header is larger than this reader accepts.
#define NANOEMBED_HEADER_TOO_LARGE 210

// The JSON is nested deeper than this reader follows.
#define NANOEMBED_TOO_DEEP 211

// The file is big-endian; only little-endian files are read.
#define NANOEMBED_BIG_ENDIAN 212

// The file says that its model is of an architecture that is not known here.
#define NANOEMBED_UNSUPPORTED_ARCHITECTURE 213

// A tensor has a data type that the format had once and has removed.
#define NANOEMBED_REMOVED_DTYPE 214

// The file is one part of several that a model was split into.
#define NANOEMBED_SPLIT_FILE 215

// An array of arrays stands in the metadata, which ggml does not read either.
#define NANOEMBED_NESTED_ARRAY 216

// The model is of another kind: one that continues texts where one that embeds them is asked for, or the other way round.
#define NANOEMBED_OTHER_MODEL 217

// The model's tokenizer is of a kind that is not read here.
#define NANOEMBED_UNSUPPORTED_TOKENIZER 218

// A metadata key that the model needs is missing.
#define NANOEMBED_MISSING_METADATA 301

// A metadata value is not the number or word it should be.
#define NANOEMBED_BAD_METADATA 302

// A tensor that the model needs is missing.
#define NANOEMBED_MISSING_TENSOR 303

// A tensor's shape does not fit the model's sizes.
#define NANOEMBED_WRONG_SHAPE 304

// Linear weights are stored [in, out] instead of [out, in]; convert the file to use it.
#define NANOEMBED_TRANSPOSED_WEIGHTS 305

// The file has no vocabulary.
#define NANOEMBED_MISSING_VOCABULARY 306

// The vocabulary's size, special tokens or index are at odds with its tokens.
#define NANOEMBED_BAD_VOCABULARY 307

// A quantised tensor's scale is missing, of another type, or not a finite number.
#define NANOEMBED_BAD_SCALE 308

// The files are not all shards of one set, or not all of them are here.
#define NANOEMBED_MIXED_SHARDS 309

// The model gave numbers that are not finite: its weights are damaged, or too large for 32 bits.
#define NANOEMBED_NOT_FINITE 310

// The buffer lent is too small.
#define NANOEMBED_BUFFER_TOO_SMALL 401

// An argument is out of its range.
#define NANOEMBED_INVALID_ARGUMENT 402

// There are more tokens than the model has positions.
#define NANOEMBED_TOO_MANY_TOKENS 403

// A token id is not in the model's vocabulary.
#define NANOEMBED_TOKEN_OUT_OF_RANGE 404

// The reader was used again after its end.
#define NANOEMBED_FINISHED 405

// The rows of this vocabulary's n-grams can be told only by an index in memory.
#define NANOEMBED_INDEX_REQUIRED 406

// There is not as much memory as this takes.
#define NANOEMBED_NO_MEMORY 407

// Reading from the source failed.
#define NANOEMBED_READ_FAILED 501

// The source delivered fewer bytes than it promised.
#define NANOEMBED_SOURCE_CHANGED 502

// Writing failed.
#define NANOEMBED_WRITE_FAILED 503

// The version of this interface. Programs compiled for one number work with every library that has
// the same number and came later: functions and constants are added, none is changed or removed.
#define NANOEMBED_ABI_VERSION 2

// The version of the header, the number that changes what programs can rely on.
#define NANOEMBED_VERSION_MAJOR 0

// The second number of the header's version; while the first is 0, it changes what programs can
// rely on.
#define NANOEMBED_VERSION_MINOR 1

// The last number of the header's version.
#define NANOEMBED_VERSION_PATCH 0

// Stands for no place in a file.
#define NANOEMBED_NO_OFFSET UINT64_MAX

// How many bytes `nanoembed_error` has for a name, with the zero at its end.
#define NANOEMBED_NAME_BYTES 64

// An alignment that suffices for lent memory on every machine; what `malloc` returns is always
// aligned enough.
#define NANOEMBED_ALIGN 16

// How many bytes `nanoembed_sniff` wants to see.
#define NANOEMBED_SNIFF_BYTES 9

// The most dimensions of a tensor.
#define NANOEMBED_MAX_DIMENSIONS 8

// Stands for a token that a tokenizer does not have.
#define NANOEMBED_NO_TOKEN UINT32_MAX

// Bytes of a fingerprint: 32 hexadecimal digits and a zero.
#define NANOEMBED_FINGERPRINT_BYTES 33

// A decoder over a file in memory. Immutable: several threads may use it at once, each with a
// session of its own.
typedef struct nanoembed_decoder nanoembed_decoder;

// A sentence embedder. Immutable: several threads may use it at once, each with a workspace of its
// own.
typedef struct nanoembed_model nanoembed_model;

// Reads a file's structure. Used by one thread at a time.
typedef struct nanoembed_reader nanoembed_reader;

// The state of one text: keys and values of its tokens, the logits after the last, and scratch
// memory. Used by one thread at a time, always with the decoder that it was made for.
typedef struct nanoembed_session nanoembed_session;

// A tokenizer. Used by any number of threads at a time.
typedef struct nanoembed_tokenizer nanoembed_tokenizer;

// The words of a `.fifu` file. Immutable: several threads may use it at once.
typedef struct nanoembed_words nanoembed_words;

// The scratch memory of one thread that embeds.
typedef struct nanoembed_workspace nanoembed_workspace;

// The result of a call: 0 for success, else whose fault it is by the hundreds digit. 1xx the file
// is damaged, 2xx it is not supported here, 3xx the model in it is incomplete, 4xx the call, 5xx
// the source, 9xx the call, seen by this interface. Numbers never change their meaning.
typedef uint32_t nanoembed_status;

// An error and its place.
typedef struct nanoembed_error {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // The status that the call returned.
  nanoembed_status status;
  // Absolute offset of the field that is wrong, in the file, or in the text where that is no
  // UTF-8; `NANOEMBED_NO_OFFSET` where it is no place in either.
  uint64_t offset;
  // How many bytes or elements would have sufficed where what was lent is too small; else 0.
  uint64_t needed;
  // The name of the key, tensor, setting or parameter at fault, if it has one.
  // Ended by a zero, and cut to fit.
  char name[NANOEMBED_NAME_BYTES];
} nanoembed_error;

// Reads up to `length` bytes from `offset` on into `destination` and puts how many into `*read`:
// at least one unless the storage ends there. Answers 0, or anything else if the storage cannot be
// read. Called from every thread that uses a handle over this source.
typedef int32_t (*nanoembed_read_at)(void *context,
                                     uint64_t offset,
                                     uint8_t *destination,
                                     size_t length,
                                     size_t *read);

// Where a file's bytes are: in memory if `data` is not NULL, else behind `read_at`. The bytes stay
// the caller's and must not change as long as a handle over them is used.
typedef struct nanoembed_source {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // The first byte of the file in memory (read, mapped, or in flash), or NULL.
  const uint8_t *data;
  // The length of the file in bytes.
  uint64_t length;
  // Reads from storage; used if `data` is NULL.
  nanoembed_read_at read_at;
  // Passed on to `read_at`.
  void *context;
} nanoembed_source;

// The formats.
typedef uint32_t nanoembed_format;

// How a file is to be read.
typedef struct nanoembed_reader_options {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // The format, for example as `nanoembed_sniff` answers. UQFF is recognised as safetensors, and
  // must be asked for.
  nanoembed_format format;
  // 0 to accept harmless deviations from the format's letter, 1 to refuse every one.
  uint32_t strict;
  // 1 to have the data of tensors, too; 0 to pass over it, in storage unread.
  uint32_t data;
} nanoembed_reader_options;

// The subject of an event.
typedef uint32_t nanoembed_event_kind;

// The type of a metadata value.
typedef uint32_t nanoembed_value_type;

// Bytes that are not ended by a zero. They lie in the file or in the reader's buffer, and are good
// until the next call.
typedef struct nanoembed_bytes {
  // The first byte.
  const uint8_t *data;
  // How many there are.
  size_t length;
} nanoembed_bytes;

// The type of a tensor's elements; `nanoembed_dtype_name` has the names. 0 is none that this
// library knows.
typedef uint32_t nanoembed_dtype;

// The description of a tensor in a file.
typedef struct nanoembed_tensor {
  // The type of the elements.
  nanoembed_dtype dtype;
  // How many of `dimensions` count.
  uint32_t dimension_count;
  // The dimensions, outermost first.
  uint64_t dimensions[NANOEMBED_MAX_DIMENSIONS];
  // Absolute offset of the data in the file.
  uint64_t offset;
  // Length of the data in bytes.
  uint64_t bytes;
} nanoembed_tensor;

// Something that a file says. Which fields count depends on `kind`; the others are 0 and empty.
typedef struct nanoembed_event {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // The subject.
  nanoembed_event_kind kind;
  // A number, see `kind`.
  uint32_t id;
  // The format.
  nanoembed_format format;
  // The type of the value.
  nanoembed_value_type value_type;
  // The version of the format.
  uint32_t version_major;
  // The version of the format.
  uint32_t version_minor;
  // A name, in UTF-8.
  struct nanoembed_bytes key;
  // A value.
  struct nanoembed_bytes value;
  // A number, see `kind`.
  uint64_t integer;
  // A number, see `kind`.
  double real;
  // Absolute offset in the file, see `kind`.
  uint64_t offset;
  // The tensor.
  struct nanoembed_tensor tensor;
} nanoembed_event;

// Is called with what a pushed file says; anything but 0 stops the reader with
// `NANOEMBED_STOPPED`.
typedef int32_t (*nanoembed_on_event)(void *context,
                                      const struct nanoembed_event *event);

// Is told how many bytes of a file have been read, of how many; anything but 0 stops with
// `NANOEMBED_STOPPED`.
typedef int32_t (*nanoembed_on_progress)(void *context,
                                         uint64_t done,
                                         uint64_t bytes);

// The sizes and the tokenizer of a model.
typedef struct nanoembed_model_info {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // Elements of an embedding.
  uint32_t dimensions;
  // Transformer layers.
  uint32_t layers;
  // Attention heads.
  uint32_t heads;
  // Elements of the feed-forward layer.
  uint32_t intermediate;
  // Positions that the model knows.
  uint32_t positions;
  // Tokens of a text that it was made to use.
  uint32_t max_tokens;
  // Tokens in the vocabulary.
  uint32_t vocabulary;
  // 1 if texts can be tokenised, else 0.
  uint32_t has_tokenizer;
  // Tokens that a workspace has room for.
  uint32_t workspace_tokens;
  // 1 if activations are quantised, else 0.
  uint32_t quantized;
} nanoembed_model_info;

// How the model computes: a choice of `nanoembed_model_options`.
typedef uint32_t nanoembed_activations;

// How tokens are found: a choice of `nanoembed_model_options`.
typedef uint32_t nanoembed_vocabulary;

// How a model is to be opened. All zeros but its size is a good start.
typedef struct nanoembed_model_options {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // Tokens that a workspace has room for: the longest text, or several short ones together;
  // longer texts are truncated. 0 for as many as the model uses (256 unless its file says
  // otherwise). 2 to 32768; `nanoembed_model_open` also takes as many as the model has positions
  // if these are more, and 1 for a table.
  uint32_t tokens;
  // Bytes of weights that are read at a time from storage; 0 for the least. More means fewer,
  // larger reads. Without meaning where the file is in memory.
  uint32_t tile_bytes;
  // How the model computes.
  nanoembed_activations activations;
  // How tokens are found.
  nanoembed_vocabulary vocabulary;
  // Tokens that pass through the feed-forward layers together; 0 for as many as is fast. Fewer
  // take less memory, and weights in storage are read again for each block. Without meaning for
  // tables, which have no such layers.
  uint32_t block_tokens;
  // Names of unknown settings that are ignored, each ended by a zero; NULL if there are none. A
  // folder, or a file that keeps the texts of one, is refused with
  // `NANOEMBED_UNSUPPORTED_SETTING` and the setting's name if no reader knows the setting, as it
  // might change results; known settings are honoured or refused whatever is named here.
  // `nanoembed_model_warning` lists those that were ignored. For models with memory of their own:
  // in lent memory, names are `NANOEMBED_INVALID_ARGUMENT`.
  const char *const *allow_unknown;
  // How many names `allow_unknown` has.
  size_t allow_unknown_count;
} nanoembed_model_options;

// How much memory a model takes, to the byte: with less a call answers
// `NANOEMBED_BUFFER_TOO_SMALL`.
typedef struct nanoembed_plan {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // Memory for the model, as long as it is used.
  size_t model_bytes;
  // Memory for the workspace of one thread.
  size_t workspace_bytes;
  // Elements of an embedding.
  uint32_t dimensions;
  // Tokens that a workspace has room for.
  uint32_t tokens;
  // Bytes of weights that are read at a time; 0 if the file is in memory.
  uint32_t tile_bytes;
  // 1 if activations are quantised, else 0.
  uint32_t quantized;
} nanoembed_plan;

// The numbers of tokens of a tokenised text.
typedef struct nanoembed_tokenized {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // How many ids there are, special tokens included.
  uint32_t tokens;
  // How many the whole text has, special tokens included.
  uint32_t total;
  // 1 if the text has more tokens than were kept, else 0.
  uint32_t truncated;
} nanoembed_tokenized;

// The choice of the prompt before texts.
typedef uint32_t nanoembed_prompt;

// A column of strings as Apache Arrow's `Utf8` and `LargeUtf8` arrays have it; nothing is copied.
typedef struct nanoembed_strings {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // `first + length + 1` offsets into `data`; row `i` is `data[offsets[first + i] ..
  // offsets[first + i + 1]]`. NULL for columns with `large_offsets`.
  const int32_t *offsets;
  // The same for Arrow's `LargeUtf8`; used if `offsets` is NULL.
  const int64_t *large_offsets;
  // UTF-8.
  const char *data;
  // The length of `data`.
  size_t data_bytes;
  // Bit `first + i`, least significant first, is 0 where row `i` is null; NULL if no row is.
  const uint8_t *validity;
  // The first row of the column that is meant (Arrow's `offset`).
  size_t first;
  // The number of rows.
  size_t length;
} nanoembed_strings;

// The outcome of a row of a batch.
typedef uint8_t nanoembed_row_status;

// A row and its score, the dot product of its vector with the query.
typedef struct nanoembed_scored {
  // The score.
  float score;
  // The row.
  uint32_t row;
} nanoembed_scored;

// How word vectors are to be opened. All zeros is a good start: no index, no memory.
typedef struct nanoembed_words_options {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // 1 to find words by an index in memory, some 12.5 bytes a word; 0 to look through the
  // vocabulary each time. A library built without the feature `word-index` answers
  // `NANOEMBED_INVALID_ARGUMENT` to 1.
  uint32_t indexed;
  // 1 to take the first of words that stand in a vocabulary twice, 0 to refuse the file. Noticed
  // with an index only.
  uint32_t first_of_duplicates;
  // Random seed of the index; prevents hash flooding by a hostile file.
  uint64_t seed;
} nanoembed_words_options;

// How much memory word vectors take, to the byte.
typedef struct nanoembed_words_plan {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // Memory for the handle and the index, as long as they are used.
  size_t words_bytes;
  // Floats of scratch for `nanoembed_words_vector`.
  size_t vector_floats;
  // Floats of scratch for `nanoembed_words_analogy`.
  size_t analogy_floats;
  // Bytes of scratch for `nanoembed_words_similar`; more means fewer, larger reads from storage.
  size_t similar_bytes;
  // Elements of a vector.
  uint32_t dimensions;
  // Words in the vocabulary.
  uint32_t words;
  // Rows in all: words, then buckets or n-grams.
  uint64_t rows;
} nanoembed_words_plan;

// A vector that was found.
typedef struct nanoembed_found {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // The word's row; `UINT32_MAX` if it is made of its n-grams.
  uint32_t row;
  // How many rows of n-grams were added up; 0 if the word is in the vocabulary.
  uint32_t subwords;
  // The length that the vector had before it was normalised.
  float norm;
} nanoembed_found;

// How a decoder is to be opened. All zeros is a good start.
typedef struct nanoembed_decoder_options {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // Tokens that a session has room for, prompt and continuation together; 0 for as many as the
  // model was made for. Memory grows with them.
  uint32_t positions;
  // Tokens of a prompt that pass through the layers together; 0 for 64. More is faster, and
  // takes more memory.
  uint32_t tokens_at_once;
} nanoembed_decoder_options;

// How much memory a decoder takes, to the byte, and what it is.
typedef struct nanoembed_decoder_plan {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // Memory for the decoder, as long as it is used.
  size_t decoder_bytes;
  // Memory for a session: keys and values of all its tokens, and scratch.
  size_t session_bytes;
  // Tokens of the vocabulary: the number of logits.
  uint32_t vocabulary;
  // Tokens that a session has room for.
  uint32_t positions;
  // Tokens of a prompt that pass through the layers together.
  uint32_t tokens_at_once;
  // Layers.
  uint32_t layers;
  // Elements of a token's vector.
  uint32_t hidden;
} nanoembed_decoder_plan;

// How the next token is chosen.
typedef struct nanoembed_sampling {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // By what logits are divided; 0 always takes the likeliest token.
  float temperature;
  // Only the likeliest tokens that together have this probability are considered; 1: all.
  float top_p;
  // Only so many of the likeliest tokens are considered; 0: all.
  uint32_t top_k;
  // The same seed and the same tokens give the same choices.
  uint64_t seed;
} nanoembed_sampling;

// The memory requirements of a tokenizer.
typedef struct nanoembed_tokenizer_plan {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // Memory of `nanoembed_tokenizer_init`.
  size_t tokenizer_bytes;
} nanoembed_tokenizer_plan;

// Which tokenizer it is.
typedef uint32_t nanoembed_tokenizer_kind;

// The kind of a tokenizer, its number of tokens, and the tokens at the ends of texts.
typedef struct nanoembed_tokenizer_info {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // Which one it is.
  nanoembed_tokenizer_kind kind;
  // The number of tokens.
  uint32_t tokens;
  // The token that is put before every text, or `NANOEMBED_NO_TOKEN`.
  uint32_t begin;
  // The usual token that ends a text, or `NANOEMBED_NO_TOKEN`: sampled, it says that the model
  // has finished. Chat models have further ones: ask `nanoembed_tokenizer_ends_text`.
  uint32_t end;
} nanoembed_tokenizer_info;

// The treatment of special and other added tokens that a text spells, such as `<|im_start|>` or
// `[SEP]`.
typedef uint32_t nanoembed_special_tokens;

// Limits on a model's memory: a model that needs more is refused before it is allocated, with
// `NANOEMBED_OVER_LIMIT` and the field's name. All zeros but its size is a good start.
typedef struct nanoembed_limits {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // Bytes of all files that hold the model's weights; 0 for 1 TiB.
  uint64_t file_bytes;
  // Bytes of scratch memory that a workspace takes for the longest text, which `tokens` of the
  // model's options makes shorter; 0 for 16 GiB.
  uint64_t workspace_bytes;
} nanoembed_limits;

// The vectors that a model makes.
typedef struct nanoembed_model_vectors {
  // The size of this struct in bytes, by which programs and libraries of different versions
  // understand each other: `sizeof`.
  uint32_t size;
  // Elements of an embedding; 0 if the model makes none.
  uint32_t dimensions;
  // 1 if the model makes sparse vectors, else 0.
  uint32_t sparse;
  // Elements of the vector of a token; 0 if the model does not make one for each.
  uint32_t multi_dimensions;
  // 1 if a text's vectors depend on its `nanoembed_side`, else 0.
  uint32_t tells_sides;
} nanoembed_model_vectors;

// The side of late interaction that a text is on.
typedef uint32_t nanoembed_side;

// The call did what it should.
#define NANOEMBED_OK 0

// The format embd is not part of this build.
#define NANOEMBED_UNSUPPORTED_EMBD 291

// The format finalfusion is not part of this build.
#define NANOEMBED_UNSUPPORTED_FINALFUSION 292

// The format gguf is not part of this build.
#define NANOEMBED_UNSUPPORTED_GGUF 293

// The format safetensors is not part of this build.
#define NANOEMBED_UNSUPPORTED_SAFETENSORS 294

// The format uqff is not part of this build.
#define NANOEMBED_UNSUPPORTED_UQFF 295

// The format amb is not part of this build.
#define NANOEMBED_UNSUPPORTED_AMB 296

// Transformers are not part of this build.
#define NANOEMBED_UNSUPPORTED_TRANSFORMERS 297

// A pointer is NULL where that is not allowed, is not aligned, or has an impossible length.
#define NANOEMBED_BAD_POINTER 901

// The callback asked to stop.
#define NANOEMBED_STOPPED 902

// The word, tensor or row asked for is not there.
#define NANOEMBED_NOT_FOUND 903

// There is no memory left on the heap.
#define NANOEMBED_OUT_OF_MEMORY 904

// A file of this format or kind must be in memory.
#define NANOEMBED_NEEDS_MEMORY 905

// The operating system cannot open or map the file.
#define NANOEMBED_CANNOT_OPEN 906

// The file has the weights of a model alone: its folder is opened by its path.
#define NANOEMBED_NEEDS_FOLDER 907

// None that this library knows.
#define NANOEMBED_FORMAT_UNKNOWN 0

// EMBD `.weights`.
#define NANOEMBED_FORMAT_EMBD 1

// finalfusion `.fifu`.
#define NANOEMBED_FORMAT_FINALFUSION 2

// GGUF.
#define NANOEMBED_FORMAT_GGUF 3

// safetensors.
#define NANOEMBED_FORMAT_SAFETENSORS 4

// UQFF, in a safetensors container, which is how it is recognised.
#define NANOEMBED_FORMAT_UQFF 5

// AMB.
#define NANOEMBED_FORMAT_AMB 6

// The content is complete; always the last event.
#define NANOEMBED_EVENT_END 0

// The fixed header: `format`, `key` (the layout's name), `version_major`, `version_minor`, `id`
// (the number of tensors), `integer` (the file's length); the last two are 0 where the header does
// not say. Always the first event.
#define NANOEMBED_EVENT_HEADER 1

// A metadata entry: `key`, `value`.
#define NANOEMBED_EVENT_METADATA 2

// A piece of a metadata document in the format's own language (TOML in finalfusion): `value`,
// `offset`.
#define NANOEMBED_EVENT_DOCUMENT 3

// The parameters of a vocabulary of words: `id` words; `key` is the kind of their subwords;
// `integer` rows of subwords.
#define NANOEMBED_EVENT_VOCABULARY 4

// A metadata entry whose value is a number, a truth value, a text or the beginning of an array of
// `integer` elements: `key`, `value_type`, and `integer`, `real` or `value`.
#define NANOEMBED_EVENT_VALUE 5

// Element `id` of the array that the last value began: as there.
#define NANOEMBED_EVENT_ELEMENT 6

// Token or word number `id`: `value`.
#define NANOEMBED_EVENT_TOKEN 7

// An n-gram: `value`, and `integer`, the index that the file gives it.
#define NANOEMBED_EVENT_NGRAM 8

// A token with a special role: `key` (`pad`, `unk`, `cls`, `sep`, `mask`), `id`.
#define NANOEMBED_EVENT_SPECIAL_TOKEN 9

// A tensor: `key` (its name), `tensor`.
#define NANOEMBED_EVENT_TENSOR 10

// A piece of tensor data: `value`, `offset`. Pieces may be cut anywhere.
#define NANOEMBED_EVENT_DATA 11

// There is no typed value.
#define NANOEMBED_VALUE_NONE 0

// An integer that is not negative: `integer`.
#define NANOEMBED_VALUE_UNSIGNED 1

// An integer: `integer`, to be read as `int64_t`.
#define NANOEMBED_VALUE_SIGNED 2

// A number: `real`.
#define NANOEMBED_VALUE_FLOAT 3

// A truth value: `integer` is 0 or 1.
#define NANOEMBED_VALUE_BOOL 4

// A text: `value`.
#define NANOEMBED_VALUE_TEXT 5

// The beginning of an array of `integer` elements.
#define NANOEMBED_VALUE_ARRAY 6

// As the model was made for: quantised if its 8-bit weights were calibrated for that or weights
// are in blocks of a scale each, else in 32-bit floats.
#define NANOEMBED_ACTIVATIONS_AUTO 0

// In 32-bit floats: as precise as the weights are.
#define NANOEMBED_ACTIVATIONS_FLOAT 1

// Quantised where weights are 8-bit or in blocks: faster, and the same bits on every machine.
#define NANOEMBED_ACTIVATIONS_QUANTIZED 2

// In integers alone, for processors without an FPU; the same bits on every machine. Needs weights
// of 8 bits, and a library built with the feature `fixed`: without it NANOEMBED_INVALID_ARGUMENT.
#define NANOEMBED_ACTIVATIONS_FIXED 3

// By the index that the file holds if it has one and lies in storage, else by an index in memory.
#define NANOEMBED_VOCABULARY_AUTO 0

// Not at all: texts come as token ids. Needs neither memory nor a vocabulary in the file.
#define NANOEMBED_VOCABULARY_NONE 1

// By the index that the file holds: no memory, and some hundred bytes read for each token.
#define NANOEMBED_VOCABULARY_IN_FILE 2

// By an index in memory, some 6.5 bytes a token: fast. The file must be in memory.
#define NANOEMBED_VOCABULARY_INDEXED 3

// The one that the model names for this, if it does.
#define NANOEMBED_PROMPT_USUAL 0

// None.
#define NANOEMBED_PROMPT_NONE 1

// The model's prompt for questions, if it has one.
#define NANOEMBED_PROMPT_QUERY 2

// The model's prompt for texts that answer questions, if it has one.
#define NANOEMBED_PROMPT_DOCUMENT 3

// The model's prompt of the name that is given.
#define NANOEMBED_PROMPT_NAMED 4

// The text that is given.
#define NANOEMBED_PROMPT_TEXT 5

// The row has a vector.
#define NANOEMBED_ROW_OK 0

// The row is null; its vector is all zeros.
#define NANOEMBED_ROW_NULL 1

// The row has a vector, of as many tokens of the text as there was room for.
#define NANOEMBED_ROW_TRUNCATED 2

// The row is not UTF-8; its vector is all zeros.
#define NANOEMBED_ROW_INVALID_UTF8 3

// The row's offsets do not lie in the data; its vector is all zeros.
#define NANOEMBED_ROW_BAD_OFFSETS 4

// WordPiece: BERT and its relatives.
#define NANOEMBED_TOKENIZER_WORDPIECE 1

// Byte-level BPE: GPT-2, Llama 3, Qwen.
#define NANOEMBED_TOKENIZER_BPE 2

// SentencePiece, of both its kinds: Llama 2, Phi-3, T5.
#define NANOEMBED_TOKENIZER_SENTENCEPIECE 3

// Text like any other: for what users write, who must not be able to end their turn.
#define NANOEMBED_SPECIAL_TOKENS_AS_TEXT 0

// The tokens themselves: for prompt templates.
#define NANOEMBED_SPECIAL_TOKENS_AS_TOKENS 1

// It asks.
#define NANOEMBED_SIDE_QUERY 0

// It answers.
#define NANOEMBED_SIDE_DOCUMENT 1

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of this interface that the library has; compare it with `NANOEMBED_ABI_VERSION`.
uint32_t nanoembed_abi_version(void);

// The version of the library as text, for example `0.1.0`. Never NULL.
const char *nanoembed_version(void);

// One English sentence that says what `status` means. Never NULL.
const char *nanoembed_status_message(nanoembed_status status);

// The stable name of `status` in snake_case. Never NULL.
const char *nanoembed_status_name(nanoembed_status status);

// Writes `error` as text, `byte OFFSET: MESSAGE: NAME`, into `buffer`, cut to its `capacity` and
// ended by a zero.
//
// `error` points to an error, `buffer` to `capacity` bytes.
nanoembed_status nanoembed_error_describe(const struct nanoembed_error *error,
                                          char *buffer,
                                          size_t capacity);

// The alignment that lent memory must have on this machine: that of what `malloc` returns, at most
// `NANOEMBED_ALIGN`.
size_t nanoembed_align(void);

// A source whose bytes are all in memory.
//
// `source` is NULL or points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_source_from_buffer(const uint8_t *data,
                                              size_t length,
                                              struct nanoembed_source *source);

// A source of `length` bytes behind a callback.
//
// `source` is NULL or points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_source_from_callback(nanoembed_read_at read_at,
                                                void *context,
                                                uint64_t length,
                                                struct nanoembed_source *source);

// Recognises a format by a file's first bytes; `NANOEMBED_FORMAT_UNKNOWN` also for NULL.
//
// `start` points to `bytes` bytes.
nanoembed_format nanoembed_sniff(const uint8_t *start,
                                 size_t bytes);

// The name of a format, for example `embd`, or `unknown`. Never NULL.
const char *nanoembed_format_name(nanoembed_format format);

// Memory that a reader needs beside its buffer, in bytes.
size_t nanoembed_reader_bytes(void);

// Makes a reader in `memory` and puts the handle, which lies there, into `*reader`. What
// `memory_bytes` is more than `nanoembed_reader_bytes()` is the reader's buffer, which must hold
// the longest name, token or metadata entry: some hundred bytes in real files; with less, files
// that have longer ones are refused.
//
// With a `source` events are pulled by `nanoembed_reader_next`; with NULL the file is pushed,
// chunk by chunk, through `nanoembed_reader_feed` and `nanoembed_reader_finish`.
//
// `source` is NULL or what its type says, `options` points to options, `memory` to as many bytes,
// aligned to `NANOEMBED_ALIGN`, that nobody else touches as long as the reader is used; `reader`
// to memory for a pointer.
NANOEMBED_CHECK nanoembed_status nanoembed_reader_init(const struct nanoembed_source *source,
                                       const struct nanoembed_reader_options *options,
                                       uint8_t *memory,
                                       size_t memory_bytes,
                                       struct nanoembed_reader **reader);

// Puts the next thing that the file says into `*event`; `NANOEMBED_EVENT_END` at its end. After an
// error every call returns that error.
//
// `reader` is NULL or a reader, `event` points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_reader_next(struct nanoembed_reader *reader,
                                       struct nanoembed_event *event,
                                       struct nanoembed_error *error);

// Pushes the next chunk of a file, of any length.
//
// `reader` is NULL or a reader, `chunk` points to `bytes` bytes; `on_event` is called with
// `context`.
NANOEMBED_CHECK nanoembed_status nanoembed_reader_feed(struct nanoembed_reader *reader,
                                       const uint8_t *chunk,
                                       size_t bytes,
                                       nanoembed_on_event on_event,
                                       void *context,
                                       struct nanoembed_error *error);

// Declares the end of a pushed file: an error if the content is not complete, else the event
// `NANOEMBED_EVENT_END` comes.
//
// `reader` is NULL or a reader; `on_event` is called with `context`.
NANOEMBED_CHECK nanoembed_status nanoembed_reader_finish(struct nanoembed_reader *reader,
                                         nanoembed_on_event on_event,
                                         void *context,
                                         struct nanoembed_error *error);

// The name of a type, for example `q4_k`, or `unknown`. Types are numbered from 1 without gaps.
// Never NULL.
const char *nanoembed_dtype_name(nanoembed_dtype dtype);

// Converts the elements from `first` on of `data`, stored as elements or blocks of `dtype`, to
// `count` floats.
//
// `data` points to `bytes` bytes, `out` to `count` floats.
NANOEMBED_CHECK nanoembed_status nanoembed_dequantize(nanoembed_dtype dtype,
                                      const uint8_t *data,
                                      size_t bytes,
                                      size_t first,
                                      float *out,
                                      size_t count);

// Converts `count` elements of a tensor of `source`, from `first` on, to floats. Where the file is
// in storage it is read in pieces of up to `tile_bytes`, at least a block of the tensor's type (at
// most 292 bytes).
//
// `source` and `tensor` are what their types say, `tile` points to `tile_bytes` bytes, `out` to
// `count` floats.
NANOEMBED_CHECK nanoembed_status nanoembed_tensor_dequantize(const struct nanoembed_source *source,
                                             const struct nanoembed_tensor *tensor,
                                             uint64_t first,
                                             uint8_t *tile,
                                             size_t tile_bytes,
                                             float *out,
                                             size_t count,
                                             struct nanoembed_error *error);

// Bytes of memory that `nanoembed_uqff_dequantize` needs for a file with as many tensors.
size_t nanoembed_uqff_bytes(size_t tensors);

// Converts elements of a layer of a UQFF file in memory, in row-major order from `first` on, to
// `count` floats. `layer` is its name, `memory` has room for all tensors of the file:
// `nanoembed_uqff_bytes`. `elements`, which may be NULL, gets the number of all elements, also if
// `count` is 0.
//
// `data`, `layer` and `memory` point to as many bytes, `memory` aligned to `NANOEMBED_ALIGN`;
// `out` to `count` floats, `elements` is NULL or points to memory for one number.
NANOEMBED_CHECK nanoembed_status nanoembed_uqff_dequantize(const uint8_t *data,
                                           size_t bytes,
                                           const char *layer,
                                           size_t layer_bytes,
                                           size_t first,
                                           uint8_t *memory,
                                           size_t memory_bytes,
                                           float *out,
                                           size_t count,
                                           uint64_t *elements,
                                           struct nanoembed_error *error);

// Memory that `nanoembed_verify` needs, in bytes; with more it reads more at once.
size_t nanoembed_verify_bytes(void);

// Reads a whole file and says whether it is what was written, as far as its format can tell:
// `NANOEMBED_DATA_CHECKSUM` or `NANOEMBED_FILE_CHECKSUM` if it is not. `*has_checksum`, which may
// be NULL, gets 1 if the file carries checksums of its data, as `.weights` and `.amb` files may,
// else 0: then only its structure has been checked. `on_progress` may be NULL.
//
// `source` is what its type says, `memory` points to `memory_bytes` bytes, aligned to
// `NANOEMBED_ALIGN`, that nobody else touches meanwhile; `on_progress` is called with `context`;
// `has_checksum` is NULL or points to memory for one number.
NANOEMBED_CHECK nanoembed_status nanoembed_verify(const struct nanoembed_source *source,
                                  uint8_t *memory,
                                  size_t memory_bytes,
                                  nanoembed_on_progress on_progress,
                                  void *context,
                                  uint32_t *has_checksum,
                                  struct nanoembed_error *error);

// Writes the model's sizes to `info`.
//
// `model` is NULL or a model, `info` is NULL or points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_model_get_info(const struct nanoembed_model *model,
                                          struct nanoembed_model_info *info);

// The memory that `nanoembed_plan_model` and `nanoembed_model_init` use while they run over a file,
// put into `*bytes`: some 100 bytes a tensor, and 6 KB where there are transformers. Reads the
// file's first 64 bytes. A model's workspace can be lent for that.
//
// `source` is what its type says, `bytes` points to memory for one number.
NANOEMBED_CHECK nanoembed_status nanoembed_plan_scratch(const struct nanoembed_source *source,
                                        size_t *bytes,
                                        struct nanoembed_error *error);

// Reads a file but for its weights and says how much memory the encoder in it takes. BERT encoders
// in `.weights` files may lie in storage; other families, and `.amb` and GGUF files, must be in
// memory. `options` may be NULL.
//
// Where texts cannot be tokenised without a heap, as the model's tokenizer does it, the setting is
// refused by its name; with `NANOEMBED_VOCABULARY_NONE` the model takes token ids.
//
// A model that compares texts has 0 dimensions, and is for `nanoembed_score`.
//
// `NANOEMBED_OTHER_MODEL` for a model that continues texts; `NANOEMBED_UNSUPPORTED_AMB` or
// `NANOEMBED_UNSUPPORTED_GGUF` if the build leaves the format out.
//
// `source` and `options` are what their types say, `scratch` points to `scratch_bytes` bytes,
// `plan` to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_plan_model(const struct nanoembed_source *source,
                                      const struct nanoembed_model_options *options,
                                      uint8_t *scratch,
                                      size_t scratch_bytes,
                                      struct nanoembed_plan *plan,
                                      struct nanoembed_error *error);

// Opens the encoder in a file in `memory`, and puts the handle, which lies there, into
// `*model`. `options` may be NULL; they must be those of the plan. `scratch` is used only
// meanwhile.
//
// Nothing is copied from the file: it must stay as it is as long as the model is used. There is
// nothing to close.
//
// `source` and `options` are what their types say, `memory` and `scratch` point to as many bytes,
// aligned to `NANOEMBED_ALIGN`; nobody else touches `memory` as long as the model is used. `model`
// points to memory for a pointer.
NANOEMBED_CHECK nanoembed_status nanoembed_model_init(const struct nanoembed_source *source,
                                      const struct nanoembed_model_options *options,
                                      uint8_t *memory,
                                      size_t memory_bytes,
                                      uint8_t *scratch,
                                      size_t scratch_bytes,
                                      struct nanoembed_model **model,
                                      struct nanoembed_error *error);

// Writes the token ids of a text in UTF-8 into `ids`, special tokens included, as many as there is
// room for.
//
// In the error, `NANOEMBED_INVALID_UTF8` has the offset in the text. Where the model is of a family
// in lent memory, its usual prompt stands before the text, and this takes 42 KB of stack, as where it
// is a static one with a Unigram tokenizer; `NANOEMBED_OVER_LIMIT` for a word that does not fit them
// (embedding a text takes memory of the workspace in their place).
//
// `model` is NULL or a model, `text` points to `text_bytes` bytes, `ids` to `capacity` ids,
// `tokenized` to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_tokenize(const struct nanoembed_model *model,
                                    const char *text_start,
                                    size_t text_bytes,
                                    uint32_t *ids,
                                    size_t capacity,
                                    struct nanoembed_tokenized *tokenized,
                                    struct nanoembed_error *error);

// Makes a workspace for `model` in `memory`, and puts the handle, which lies there, into
// `*workspace`. A workspace is for this model, and for one thread at a time. There is nothing to
// close.
//
// `model` is NULL or a model; `memory` points to as many bytes, aligned to `NANOEMBED_ALIGN`, that
// nobody else touches as long as the workspace is used; `workspace` points to memory for a
// pointer.
NANOEMBED_CHECK nanoembed_status nanoembed_workspace_init_with_error(const struct nanoembed_model *model,
                                                     uint8_t *memory,
                                                     size_t memory_bytes,
                                                     struct nanoembed_workspace **workspace,
                                                     struct nanoembed_error *error);

// As `nanoembed_workspace_init_with_error`, without telling how much memory would be enough.
//
// As `nanoembed_workspace_init_with_error`.
NANOEMBED_CHECK nanoembed_status nanoembed_workspace_init(const struct nanoembed_model *model,
                                          uint8_t *memory,
                                          size_t memory_bytes,
                                          struct nanoembed_workspace **workspace);

// The size of the workspaces of `model` in bytes; 0 for NULL. That of a model with memory of its
// own, which `nanoembed_workspace_new` makes, grows with the texts up to this size.
//
// `model` is NULL or a model.
size_t nanoembed_workspace_bytes(const struct nanoembed_model *model);

// The embedding of a text whose token ids are known, special tokens included.
//
// `model` and `workspace` are NULL or handles, `ids` points to `count` ids, `out` to `capacity`
// floats.
NANOEMBED_CHECK nanoembed_status nanoembed_embed_ids(const struct nanoembed_model *model,
                                     struct nanoembed_workspace *workspace,
                                     const uint32_t *ids,
                                     size_t count,
                                     float *out,
                                     size_t capacity,
                                     struct nanoembed_error *error);

// The embedding of a text in UTF-8. `tokenized` may be NULL; it says how many tokens the text has
// and whether they were more than there was room for.
//
// `model` and `workspace` are NULL or handles, `text` points to `text_bytes` bytes, `out` to
// `capacity` floats, `tokenized` is NULL or points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_embed_text(const struct nanoembed_model *model,
                                      struct nanoembed_workspace *workspace,
                                      const char *text_start,
                                      size_t text_bytes,
                                      float *out,
                                      size_t capacity,
                                      struct nanoembed_tokenized *tokenized,
                                      struct nanoembed_error *error);

// The cosine of two vectors of `length` floats; 0 if one of them is all zeros, NaN if an element is.
//
// `a` and `b` point to `length` floats, `cosine` to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_cosine(const float *a,
                                  const float *b,
                                  size_t length,
                                  float *cosine);

// Chooses the prompt that stands before the texts that are embedded with `workspace`, until another
// one is chosen. `name` counts for `NANOEMBED_PROMPT_NAMED` and `NANOEMBED_PROMPT_TEXT`, and may be
// NULL for others. `NANOEMBED_INVALID_ARGUMENT`, with the name `prompt`, if the model has no prompt
// called `name`, or if a BERT encoder or a static model in lent memory is given a text. A prompt in
// lent memory has at most 256 bytes, or as many as the longest one of the model. If it has more,
// the status is `NANOEMBED_BUFFER_TOO_SMALL` and no prompt is chosen.
//
// `model` and `workspace` are NULL or handles, `name` points to `name_bytes` bytes.
NANOEMBED_CHECK nanoembed_status nanoembed_workspace_set_prompt(const struct nanoembed_model *model,
                                                struct nanoembed_workspace *workspace,
                                                nanoembed_prompt prompt,
                                                const char *name,
                                                size_t name_bytes,
                                                struct nanoembed_error *error);

// How well `document` answers `query`, by a model that compares texts (a cross-encoder): more is
// better. What does not fit is cut from the end of the longer text first. `NANOEMBED_OTHER_MODEL`
// for models that embed texts. The workspace's prompt is the instruction to a reranker whose chat
// template has a place for one.
//
// Of a model for late interaction with memory of its own the score is MaxSim, and each text is cut
// alone. Where many documents answer one query, `nanoembed_embed_multi` and `nanoembed_max_sim` read
// it once.
//
// `model` and `workspace` are NULL or handles, `query` and `document` point to as many bytes,
// `score` to memory for one number.
NANOEMBED_CHECK nanoembed_status nanoembed_score(const struct nanoembed_model *model,
                                 struct nanoembed_workspace *workspace,
                                 const char *query,
                                 size_t query_bytes,
                                 const char *document,
                                 size_t document_bytes,
                                 float *score,
                                 struct nanoembed_error *error);

// Embeds the rows of a column. Row `i` gets the `dimensions` floats from `out[i · dimensions]` on
// and `row_status[i]`. Short texts are computed together, as many as the workspace has room for.
// If the status is not 0, rows may or may not have been written.
//
// `model` and `workspace` are NULL or handles, `strings` is what its type says, `out` points to
// `capacity` floats, `row_status` to `row_capacity` bytes.
NANOEMBED_CHECK nanoembed_status nanoembed_embed_strings(const struct nanoembed_model *model,
                                         struct nanoembed_workspace *workspace,
                                         const struct nanoembed_strings *strings,
                                         float *out,
                                         size_t capacity,
                                         nanoembed_row_status *row_status,
                                         size_t row_capacity,
                                         struct nanoembed_error *error);

// Puts those of `rows` vectors, one after the other, that have the largest dot products with
// `query` into `best`, the best first, and how many there are into `*found`: `capacity`, unless
// there are fewer rows. Of vectors of length 1 the dot product is the cosine.
//
// `query` points to `dimensions` floats, `vectors` to `rows` times as many, `best` to `capacity`
// elements, `found` to memory for one number.
NANOEMBED_CHECK nanoembed_status nanoembed_top_k(const float *query,
                                 size_t dimensions,
                                 const float *vectors,
                                 size_t rows,
                                 struct nanoembed_scored *best,
                                 size_t capacity,
                                 size_t *found);

// Reads a `.fifu` file but for its vectors and says how much memory it takes. `scratch` must hold
// the longest word and the longest entry of the list of n-grams: 512 bytes in real files; in a
// file in memory larger ones make it faster. `options` may be NULL.
//
// `source` and `options` are what their types say, `scratch` points to `scratch_bytes` bytes,
// `plan` to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_plan_words(const struct nanoembed_source *source,
                                      const struct nanoembed_words_options *options,
                                      uint8_t *scratch,
                                      size_t scratch_bytes,
                                      struct nanoembed_words_plan *plan,
                                      struct nanoembed_error *error);

// Opens the word vectors of a `.fifu` file in `memory`, and puts the handle, which lies there,
// into `*words`. `options` may be NULL; they must be those of the plan. `scratch` is used only
// meanwhile. There is nothing to close.
//
// `source` and `options` are what their types say, `memory` and `scratch` point to as many bytes,
// `memory` aligned to `NANOEMBED_ALIGN`; nobody else touches `memory` as long as the words are
// used. `words` points to memory for a pointer.
NANOEMBED_CHECK nanoembed_status nanoembed_words_init(const struct nanoembed_source *source,
                                      const struct nanoembed_words_options *options,
                                      uint8_t *memory,
                                      size_t memory_bytes,
                                      uint8_t *scratch,
                                      size_t scratch_bytes,
                                      struct nanoembed_words **words,
                                      struct nanoembed_error *error);

// How much memory the calls over an open file take, as `nanoembed_plan_words` said.
//
// `words` is NULL or a handle, `plan` points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_words_get_plan(const struct nanoembed_words *words,
                                          struct nanoembed_words_plan *plan);

// Puts the row of a word of the vocabulary into `*row`; `NANOEMBED_NOT_FOUND` if it is not there.
//
// `words` is NULL or a handle, `word` points to `word_bytes` bytes, `row` to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_words_find(const struct nanoembed_words *words,
                                      const char *word,
                                      size_t word_bytes,
                                      uint32_t *row,
                                      struct nanoembed_error *error);

// Puts the vector of a word into `out`: its own, or what its n-grams add up to if the vocabulary
// lacks it; `NANOEMBED_NOT_FOUND` if there is neither. `found` may be NULL.
//
// `words` is NULL or a handle, `word` points to `word_bytes` bytes, `scratch` to `scratch_floats`
// floats, `out` to `capacity` floats, `found` is NULL or points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_words_vector(const struct nanoembed_words *words,
                                        const char *word,
                                        size_t word_bytes,
                                        float *scratch,
                                        size_t scratch_floats,
                                        float *out,
                                        size_t capacity,
                                        struct nanoembed_found *found,
                                        struct nanoembed_error *error);

// Puts the word of a row into `buffer`, not ended by a zero, and its length into `*length`.
//
// `words` is NULL or a handle, `buffer` points to `capacity` bytes, `length` to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_words_word(const struct nanoembed_words *words,
                                      uint32_t row,
                                      char *buffer,
                                      size_t capacity,
                                      size_t *length,
                                      struct nanoembed_error *error);

// Puts the words whose vectors have the largest dot products with `query`, the best first, into
// `best`, and how many there are into `*found`: `capacity`, unless the vocabulary has fewer. The
// rows in `skip` are left out.
//
// `words` is NULL or a handle, `query` points to `dimensions` floats, `skip` to `skips` rows,
// `memory` to `memory_bytes` bytes aligned to `NANOEMBED_ALIGN`, `best` to `capacity` elements,
// `found` to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_words_similar(const struct nanoembed_words *words,
                                         const float *query,
                                         size_t dimensions,
                                         const uint32_t *skip,
                                         size_t skips,
                                         uint8_t *memory,
                                         size_t memory_bytes,
                                         struct nanoembed_scored *best,
                                         size_t capacity,
                                         size_t *found,
                                         struct nanoembed_error *error);

// Puts the query of "a is to b as c is to …" into `query`, for `nanoembed_words_similar`;
// `NANOEMBED_NOT_FOUND` if one of the words has no vector. `rows`, which may be NULL, gets the
// rows of `a`, `b` and `c`, `UINT32_MAX` for words that are not in the vocabulary: answers that
// are usually not wanted.
//
// `words` is NULL or a handle, `a`, `b` and `c` point to as many bytes, `scratch` to
// `scratch_floats` floats, `query` to `capacity` floats, `rows` is NULL or points to memory for
// three.
NANOEMBED_CHECK nanoembed_status nanoembed_words_analogy(const struct nanoembed_words *words,
                                         const char *a,
                                         size_t a_bytes,
                                         const char *b,
                                         size_t b_bytes,
                                         const char *c,
                                         size_t c_bytes,
                                         float *scratch,
                                         size_t scratch_floats,
                                         float *query,
                                         size_t capacity,
                                         uint32_t *rows,
                                         struct nanoembed_error *error);

// Reads an `.amb` or GGUF file in memory and says how much memory the decoder in it takes.
// `options` may be NULL.
//
// `source` and `options` are what their types say, `plan` points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_plan_decoder(const struct nanoembed_source *source,
                                        const struct nanoembed_decoder_options *options,
                                        struct nanoembed_decoder_plan *plan,
                                        struct nanoembed_error *error);

// Opens the decoder in an `.amb` or GGUF file in `memory`, and puts the handle, which lies there,
// into `*decoder`. The file must be in memory (read, mapped, or in flash), and stay as it is as
// long as the decoder is used. `options` may be NULL; they must be those of the plan. There is
// nothing to close.
//
// Tokens come and go as ids: texts are the business of the tokenizer that the model was made with.
//
// `source` and `options` are what their types say, `memory` points to as many bytes, aligned to
// `NANOEMBED_ALIGN`, that nobody else touches as long as the decoder is used; `decoder` points to
// memory for a pointer.
NANOEMBED_CHECK nanoembed_status nanoembed_decoder_init(const struct nanoembed_source *source,
                                        const struct nanoembed_decoder_options *options,
                                        uint8_t *memory,
                                        size_t memory_bytes,
                                        struct nanoembed_decoder **decoder,
                                        struct nanoembed_error *error);

// The memory requirements of an open decoder's sessions, as `nanoembed_plan_decoder` gives them.
//
// `decoder` is NULL or a decoder, `plan` points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_decoder_get_plan(const struct nanoembed_decoder *decoder,
                                            struct nanoembed_decoder_plan *plan);

// Makes a session with `decoder` in `memory`, and puts the handle, which lies there, into
// `*session`. It has no tokens yet, and takes the likeliest token until
// `nanoembed_session_set_sampling` says otherwise. There is nothing to close.
//
// `decoder` is NULL or a decoder; `memory` points to as many bytes, aligned to `NANOEMBED_ALIGN`,
// that nobody else touches as long as the session is used; `session` points to memory for a
// pointer.
NANOEMBED_CHECK nanoembed_status nanoembed_session_init(const struct nanoembed_decoder *decoder,
                                        uint8_t *memory,
                                        size_t memory_bytes,
                                        struct nanoembed_session **session);

// Sets how the next tokens are chosen.
//
// `session` is NULL or a session, `sampling` points to one.
NANOEMBED_CHECK nanoembed_status nanoembed_session_set_sampling(struct nanoembed_session *session,
                                                const struct nanoembed_sampling *sampling);

// Takes `count` tokens through the model after those of the session: a prompt, or the token that
// was chosen. `NANOEMBED_TOO_MANY_TOKENS` if the session has no room for them; after an error the
// session is as it was, but for its logits.
//
// `decoder` and `session` are NULL or handles, `ids` points to `count` ids.
NANOEMBED_CHECK nanoembed_status nanoembed_session_feed(const struct nanoembed_decoder *decoder,
                                        struct nanoembed_session *session,
                                        const uint32_t *ids,
                                        size_t count,
                                        struct nanoembed_error *error);

// Chooses the token that comes next and puts it into `*id`; it is not yet part of the session:
// feed it. `NANOEMBED_INVALID_ARGUMENT` if nothing has been fed.
//
// `session` is NULL or a session, `id` points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_session_sample(struct nanoembed_session *session,
                                          uint32_t *id);

// Copies the logits after the last token, as many as the vocabulary has tokens, into `out`.
// `NANOEMBED_INVALID_ARGUMENT` if nothing has been fed.
//
// `session` is NULL or a session, `out` points to `capacity` floats.
NANOEMBED_CHECK nanoembed_status nanoembed_session_logits(const struct nanoembed_session *session,
                                          float *out,
                                          size_t capacity);

// How many tokens a session has; 0 for NULL.
//
// `session` is NULL or a session.
uint32_t nanoembed_session_length(const struct nanoembed_session *session);

// Forgets all tokens of a session from the `length`-th on, for another continuation or another
// text.
//
// `session` is NULL or a session.
NANOEMBED_CHECK nanoembed_status nanoembed_session_truncate(struct nanoembed_session *session,
                                            uint32_t length);

// Reads what the file of a model in memory says of its tokenizer and says how much memory an index
// over it takes. The file is a `.weights`, `.amb` or GGUF file of an encoder or of a model that
// continues texts, or a SentencePiece model alone (`tokenizer.model`).
//
// `NANOEMBED_MISSING_VOCABULARY` without a tokenizer, `NANOEMBED_UNSUPPORTED_TOKENIZER` for one
// that is not known.
//
// `source` is what its type says, `plan` points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_plan_tokenizer(const struct nanoembed_source *source,
                                          struct nanoembed_tokenizer_plan *plan,
                                          struct nanoembed_error *error);

// Opens the tokenizer of a file in `memory`, and puts the handle, which lies there, into
// `*tokenizer`. The file must be in memory (read, mapped, or in flash), and stay as it is as long
// as the tokenizer is used. There is nothing to close.
//
// `source` is what its type says, `memory` points to as many bytes, aligned to `NANOEMBED_ALIGN`,
// that nobody else touches as long as the tokenizer is used; `tokenizer` points to memory for a
// pointer.
NANOEMBED_CHECK nanoembed_status nanoembed_tokenizer_init(const struct nanoembed_source *source,
                                          uint8_t *memory_start,
                                          size_t memory_bytes,
                                          struct nanoembed_tokenizer **tokenizer,
                                          struct nanoembed_error *error);

// Writes the description of the tokenizer to `info`.
//
// `tokenizer` is NULL or a tokenizer, `info` is NULL or points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_tokenizer_get_info(const struct nanoembed_tokenizer *tokenizer,
                                              struct nanoembed_tokenizer_info *info);

// How many bytes of scratch memory always suffice to encode a text, put into `*bytes`; none for
// WordPiece. Byte-level BPE may do with less: it is words that need memory, each as much as this
// function says of a text of its own length.
//
// `tokenizer` is NULL or a tokenizer, `text` points to `text_bytes` bytes, `bytes` to memory for
// one number.
NANOEMBED_CHECK nanoembed_status nanoembed_tokenizer_scratch_bytes(const struct nanoembed_tokenizer *tokenizer,
                                                   const char *text_start,
                                                   size_t text_bytes,
                                                   size_t *bytes);

// Writes the token ids of a text in UTF-8 into `ids`, as many as there is room for, with the
// tokens that are put around every text if there are any. `special` says what special tokens
// become that the text spells.
//
// `NANOEMBED_BUFFER_TOO_SMALL` if the scratch memory is too small, see
// `nanoembed_tokenizer_scratch_bytes`, or if there is no room for the two special tokens of
// WordPiece, which a text that is cut keeps. In the error, `NANOEMBED_INVALID_UTF8` has the offset
// in the text.
//
// `tokenizer` is NULL or a tokenizer, `text` points to `text_bytes` bytes, `scratch` to
// `scratch_bytes` bytes, aligned to `NANOEMBED_ALIGN`, that nobody else touches meanwhile, `ids`
// to `capacity` ids, `tokenized` to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_tokenizer_encode(const struct nanoembed_tokenizer *tokenizer,
                                            const char *text_start,
                                            size_t text_bytes,
                                            nanoembed_special_tokens special,
                                            uint8_t *scratch_start,
                                            size_t scratch_bytes,
                                            uint32_t *ids,
                                            size_t capacity,
                                            struct nanoembed_tokenized *tokenized,
                                            struct nanoembed_error *error);

// Returns 1 if a sampled token ends the text, and 0 for any other token and without a tokenizer.
//
// `tokenizer` is NULL or a tokenizer.
uint8_t nanoembed_tokenizer_ends_text(const struct nanoembed_tokenizer *tokenizer,
                                      uint32_t id);

// Writes the bytes that a token stands for into `out`, and their number into `*bytes`. A character
// of several bytes may be spread over several tokens: what has been written one after the other is
// UTF-8. Words of SentencePiece begin with their space; tokens of WordPiece are as the vocabulary
// spells them, `##` before those that go on with a word.
//
// `NANOEMBED_TOKEN_OUT_OF_RANGE` for an id of no token, `NANOEMBED_BUFFER_TOO_SMALL` if `capacity`
// does not suffice.
//
// `tokenizer` is NULL or a tokenizer, `out` points to `capacity` bytes, `bytes` to memory for one
// number.
NANOEMBED_CHECK nanoembed_status nanoembed_tokenizer_token(const struct nanoembed_tokenizer *tokenizer,
                                           uint32_t id,
                                           char *out,
                                           size_t capacity,
                                           size_t *bytes);

#ifndef NANOEMBED_NO_STD
// A source over the file at `path`, which is mapped into memory: its pages come when they are used.
// On Windows the path is UTF-8, here and in other functions; elsewhere any bytes.
// `nanoembed_source_close` unmaps it. `NANOEMBED_CANNOT_OPEN` if there is no such file, or it is no
// regular one, such as a pipe; where the operating system refuses it, `errno` says why.
//
// `path` is NULL or ends with a zero, `source` is NULL or points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_source_from_file(const char *path,
                                            struct nanoembed_source *source);

// Unmaps the file of a source that `nanoembed_source_from_file` made, and clears the source; others
// are left alone. No handle over it may be used any more.
//
// `source` is NULL or a source that has not been copied and closed already.
void nanoembed_source_close(struct nanoembed_source *source);

// As `nanoembed_model_init`, in memory from the heap; to be freed by `nanoembed_model_free`.
//
// In a file in memory that may be a model of any family, with any tokenizer, with prompts, and one
// that compares texts; such models have memory of their own, and are to be used with workspaces of
// `nanoembed_workspace_new`. Of the options they honour `activations` but for
// `NANOEMBED_ACTIVATIONS_FIXED`, `block_tokens`, and `vocabulary` but for
// `NANOEMBED_VOCABULARY_IN_FILE`; these two are `NANOEMBED_INVALID_ARGUMENT`, with the name of the
// option. With `NANOEMBED_VOCABULARY_NONE` their file must have a tokenizer all the same.
// `tile_bytes` is for storage, and has no meaning for them. Texts are embedded one by one: of
// `tokens`, no more than the model's positions are used.
//
// As `nanoembed_model_init`.
NANOEMBED_CHECK nanoembed_status nanoembed_model_new(const struct nanoembed_source *source,
                                     const struct nanoembed_model_options *options,
                                     struct nanoembed_model **model,
                                     struct nanoembed_error *error);

// Opens the model at `path`, which is a `.weights`, `.amb` or GGUF file or a folder of Hugging
// Face, and keeps what it maps; to be freed by `nanoembed_model_free`. It always has memory of its
// own, with the options as `nanoembed_model_new` says of such models.
//
// `path` is NULL or ends with a zero, `options` is what its type says, `model` points to memory
// for a pointer.
NANOEMBED_CHECK nanoembed_status nanoembed_model_open(const char *path,
                                      const struct nanoembed_model_options *options,
                                      struct nanoembed_model **model,
                                      struct nanoembed_error *error);

// As `nanoembed_model_open`, if the model takes no more than `limits` allow; NULL is all zeros, as
// for `nanoembed_model_open`.
//
// As `nanoembed_model_open`; `limits` is NULL or what its type says.
NANOEMBED_CHECK nanoembed_status nanoembed_model_open_within(const char *path,
                                             const struct nanoembed_model_options *options,
                                             const struct nanoembed_limits *limits,
                                             struct nanoembed_model **model,
                                             struct nanoembed_error *error);

// The warning of this index: that one of the unknown settings named in `allow_unknown` is ignored,
// with its file and name. NULL if there are no more, which is so for every model that was opened
// without names. The text ends with a zero and lives as long as the model.
//
// `model` is NULL or a model.
const char *nanoembed_model_warning(const struct nanoembed_model *model,
                                    size_t index);

// Frees a model that `nanoembed_model_new` or `nanoembed_model_open` made; NULL and models in lent
// memory are left alone.
//
// `model` is NULL or a model that is used no more.
void nanoembed_model_free(struct nanoembed_model *model);

// As `nanoembed_workspace_init`, in memory from the heap; to be freed by
// `nanoembed_workspace_free`.
//
// As `nanoembed_workspace_init`.
NANOEMBED_CHECK nanoembed_status nanoembed_workspace_new(const struct nanoembed_model *model,
                                         struct nanoembed_workspace **workspace);

// Frees a workspace that `nanoembed_workspace_new` made; NULL and workspaces in lent memory are
// left alone.
//
// `workspace` is NULL or a workspace that is used no more.
void nanoembed_workspace_free(struct nanoembed_workspace *workspace);

// As `nanoembed_words_init`, in memory from the heap; to be freed by `nanoembed_words_free`.
//
// As `nanoembed_words_init`.
NANOEMBED_CHECK nanoembed_status nanoembed_words_new(const struct nanoembed_source *source,
                                     const struct nanoembed_words_options *options,
                                     struct nanoembed_words **words,
                                     struct nanoembed_error *error);

// Frees words that `nanoembed_words_new` made; NULL and words in lent memory are left alone.
//
// `words` is NULL or a handle that is used no more.
void nanoembed_words_free(struct nanoembed_words *words);

// As `nanoembed_decoder_init`, in memory from the heap; to be freed by `nanoembed_decoder_free`.
//
// As `nanoembed_decoder_init`.
NANOEMBED_CHECK nanoembed_status nanoembed_decoder_new(const struct nanoembed_source *source,
                                       const struct nanoembed_decoder_options *options,
                                       struct nanoembed_decoder **decoder,
                                       struct nanoembed_error *error);

// Frees a decoder that `nanoembed_decoder_new` made; NULL and decoders in lent memory are left
// alone.
//
// `decoder` is NULL or a decoder that is used no more.
void nanoembed_decoder_free(struct nanoembed_decoder *decoder);

// As `nanoembed_tokenizer_init`, in memory from the heap; to be freed by
// `nanoembed_tokenizer_free`.
//
// As `nanoembed_tokenizer_init`.
NANOEMBED_CHECK nanoembed_status nanoembed_tokenizer_new(const struct nanoembed_source *source,
                                         struct nanoembed_tokenizer **tokenizer,
                                         struct nanoembed_error *error);

// Frees a tokenizer that `nanoembed_tokenizer_new` made; NULL and tokenizers in lent memory are
// left alone.
//
// `tokenizer` is NULL or a tokenizer that is used no more.
void nanoembed_tokenizer_free(struct nanoembed_tokenizer *tokenizer);

// As `nanoembed_session_init`, in memory from the heap; to be freed by `nanoembed_session_free`.
//
// As `nanoembed_session_init`.
NANOEMBED_CHECK nanoembed_status nanoembed_session_new(const struct nanoembed_decoder *decoder,
                                       struct nanoembed_session **session);

// Frees a session that `nanoembed_session_new` made; NULL and sessions in lent memory are left
// alone.
//
// `session` is NULL or a session that is used no more.
void nanoembed_session_free(struct nanoembed_session *session);

// Writes the fingerprint of the space of a model's vectors to `fingerprint`, of
// `NANOEMBED_FINGERPRINT_BYTES` bytes: vectors may be compared with each other if their models have
// the same. It is that of the model in a file in memory, used without options, and equals what
// `nanoembed inspect` prints.
//
// `NANOEMBED_OTHER_MODEL` for a model that compares texts.
//
// `source` is what its type says, `fingerprint` points to `capacity` bytes.
NANOEMBED_CHECK nanoembed_status nanoembed_fingerprint(const struct nanoembed_source *source,
                                       char *fingerprint,
                                       size_t capacity,
                                       struct nanoembed_error *error);

// Writes to `vectors` which vectors the model makes. Models in lent memory make embeddings alone.
//
// `model` is NULL or a model, `vectors` is NULL or points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_model_get_vectors(const struct nanoembed_model *model,
                                             struct nanoembed_model_vectors *vectors);

// The sparse vector of a text in UTF-8, by a model that makes them (SPLADE, or BGE-M3 beside its
// embeddings) and has memory of its own: `*count` tokens of the vocabulary in ascending order into
// `ids`, and their weights into `weights`. `tokenized` may be NULL.
//
// `NANOEMBED_BUFFER_TOO_SMALL` if there are more than `capacity`; `needed` of `error` is their number
// then. `NANOEMBED_OTHER_MODEL` for other models.
//
// `model` and `workspace` are NULL or handles, `text` points to `text_bytes` bytes, `ids` and
// `weights` to memory for `capacity` numbers, `count` for one, `tokenized` is NULL or points to
// memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_embed_sparse(const struct nanoembed_model *model,
                                        struct nanoembed_workspace *workspace,
                                        const char *text_start,
                                        size_t text_bytes,
                                        uint32_t *ids,
                                        float *weights,
                                        size_t capacity,
                                        size_t *count,
                                        struct nanoembed_tokenized *tokenized,
                                        struct nanoembed_error *error);

// The vectors of the tokens of a text in UTF-8, by a model for late interaction (ColBERT, or BGE-M3
// beside its embeddings) that has memory of its own: `*count` vectors of `multi_dimensions` floats
// each, of length 1, one after the other into `out`. The model's prompt for texts on this side
// stands before the text unless the workspace has another one. `tokenized` may be NULL; some tokens
// may have no vector.
//
// `NANOEMBED_BUFFER_TOO_SMALL` if they are more than `capacity` floats; `needed` of `error` is their
// number then, and never more than `multi_dimensions` for each of the model's `workspace_tokens`.
// `NANOEMBED_OTHER_MODEL` for other models.
//
// `model` and `workspace` are NULL or handles, `text` points to `text_bytes` bytes, `out` to memory
// for `capacity` floats, `count` for one number, `tokenized` is NULL or points to memory for one.
NANOEMBED_CHECK nanoembed_status nanoembed_embed_multi(const struct nanoembed_model *model,
                                       struct nanoembed_workspace *workspace,
                                       nanoembed_side side,
                                       const char *text_start,
                                       size_t text_bytes,
                                       float *out,
                                       size_t capacity,
                                       size_t *count,
                                       struct nanoembed_tokenized *tokenized,
                                       struct nanoembed_error *error);

// How well a document answers a query by late interaction: the sum over the query's vectors of the
// largest dot product with one of the document's; 0 if either has none. Both have vectors of
// `dimensions` floats, one after the other.
//
// `query` points to `query_vectors` vectors, `document` to `document_vectors`, `score` to memory for
// one number.
NANOEMBED_CHECK nanoembed_status nanoembed_max_sim(const float *query,
                                   size_t query_vectors,
                                   const float *document,
                                   size_t document_vectors,
                                   size_t dimensions,
                                   float *score);

#endif // NANOEMBED_NO_STD

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NANOEMBED_H */
