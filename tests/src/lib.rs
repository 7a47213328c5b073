//! Common parts of the suites in `tests/`, the benchmarks and the fuzz targets.
//!
//! * [`amb`]: synthetic AMB files.
//! * [`events`]: events as owned values, with data pieces joined, so that runs can be compared.
//! * [`source_tree`]: the dependencies among core's files.
//! * [`sources`]: one decoder run through every source.
//! * [`contract`]: a decoder that checks the contract of [`nanoembed_core::event`] at every call.
//! * [`finalfusion`]: finalfusion files rewritten, synthesised, and opened.
//! * [`formats`]: the table of formats for generic suites.
//! * [`hostile`]: deliberately invalid files.
//! * [`changed`]: test files with changed keys and tensors.
//! * [`blocks`]: the published model with its matrices in ggml's blocks.
//! * [`schemes`]: quantisation schemes as a table.
//! * [`supply`]: the project's third-party packages.
//! * [`sbom`]: a list of them as CycloneDX.
//! * [`uqff`]: a UQFF file with every kind of layer.
//! * [`letter_classes`]: generates core's table of letters and numbers.
//! * [`word_characters`]: generates core's table of word characters.
//! * [`checkpoint`]: folders of encoders of all families, and their expected results.
//! * [`agreement`]: the agreement of a model's embeddings with the reference.
//! * [`minilm`]: the reference sentences and the published model.
//! * [`vocabularies`]: small vocabularies, as files store them.
//! * [`sentencepiece_reference`]: a simple SentencePiece.
//! * [`wordpiece_reference`]: a simple WordPiece.
//! * [`core_tables`]: all of core's generated tables.
//! * [`unicode_tables`]: generates core's character tables.
//! * [`decomposed_tables`]: those of characters without their accents.
//! * [`made_up_texts`]: synthetic texts in all scripts, for tokenizers.
//! * [`pipeline_tables`]: generates core's tables of normalisation forms and grapheme clusters.
//! * [`english`]: text for benchmarks.
//! * [`fuzz`]: the bodies of the fuzz targets.
//! * [`data`]: the paths of test files.
//! * [`decoder`]: decoders of the Llama family, ready to run.
//! * [`values`]: comparing arrays of numbers.

pub mod agreement;
pub mod amb;
pub mod blocks;
pub mod changed;
pub mod checkpoint;
pub mod contract;
pub mod core_tables;
pub mod data;
pub mod decoder;
pub mod decomposed_tables;
pub mod encoder_folder;
pub mod english;
pub mod events;
pub mod finalfusion;
pub mod formats;
pub mod fuzz;
pub mod hostile;
pub mod in_blocks;
pub mod letter_classes;
pub mod made_up_texts;
pub mod minilm;
pub mod pipeline_tables;
pub mod refusing;
pub mod sbom;
pub mod schemes;
pub mod sentencepiece_reference;
pub mod skipped;
pub mod source_tree;
pub mod sources;
pub mod supply;
pub mod unicode_tables;
pub mod uqff;
pub mod values;
pub mod vocabularies;
pub mod word_characters;
pub mod wordpiece_reference;
