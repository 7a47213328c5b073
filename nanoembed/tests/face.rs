//! The face of the crate on small files.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use nanoembed::convert::{Conversion, Migration, ModelTarget, WeightType};
use nanoembed::{
    CrossEncoder, Encoder, ErrorKind, File, FinishReason, Generator, Kind, Limits, Message, Model,
    ModelOptions, Observer, Pooling, Prefix, Prompt, Purpose, Role, Sampling, Silent, Task,
    Tokenizer, Words,
};

const BERT: &str = "../ffi/tests/data/small_bert.weights";
const PROMPTED: &str = "../ffi/tests/data/default_prompt.weights";
const LLAMA: &str = "../tests/data/llama/tiny.gguf";
const WORDS: &str = "../ffi/tests/data/words.fifu";

const TEXTS: [&str; 4] =
    ["How do I reset my password?", "", "The weather is lovely today.", "a b c d e f g h i"];

#[test]
fn one_text_many_texts_and_a_session_give_the_same() {
    for path in [BERT, LLAMA] {
        let encoder = Encoder::open(path).unwrap();
        let vectors = encoder.embed_all(&TEXTS).unwrap();
        assert_eq!((vectors.len(), vectors.dimensions()), (4, encoder.dimensions()));
        let mut session = encoder.session().unwrap();
        for (text, row) in TEXTS.iter().zip(vectors.rows()) {
            assert_eq!(encoder.embed(text).unwrap(), row, "{path} {text:?}");
            assert_eq!(session.embed(text).unwrap(), row, "{path} {text:?}");
        }
        let threads = Encoder::options().threads(3).open(path).unwrap();
        assert_eq!(threads.embed_all(&TEXTS).unwrap(), vectors);
        let bytes = Encoder::from_bytes(std::fs::read(path).unwrap()).unwrap();
        assert_eq!(bytes.embed_all(&TEXTS).unwrap(), vectors);
    }
}

#[test]
fn token_ids_are_embedded_as_their_texts() {
    for path in [BERT, PROMPTED, LLAMA, "../ffi/tests/data/small_table.weights"] {
        let encoder = Encoder::open(path).unwrap();
        let ids = TEXTS.map(|text| encoder.tokenize(text).unwrap());
        let vectors = encoder.embed_ids(&ids, &Silent).unwrap();
        assert_eq!(vectors, encoder.embed_all(&TEXTS).unwrap(), "{path}");
        let cut = encoder.with_truncate_dim(2).unwrap().with_normalize(true);
        let rows = cut.embed_ids(&ids[..1], &Silent).unwrap();
        assert_eq!(rows.rows().next().unwrap(), cut.embed(TEXTS[0]).unwrap(), "{path}");
        assert_eq!(encoder.embed_ids::<Vec<u32>>(&[], &Silent).unwrap().len(), 0);
        let kind = |ids: Vec<u32>| encoder.embed_ids(&[ids], &Silent).unwrap_err().kind();
        let long = vec![1; encoder.max_tokens() + 1];
        assert_eq!(kind(long), Kind::Core(ErrorKind::TooManyTokens), "{path}");
        assert_eq!(kind(vec![u32::MAX]), Kind::Core(ErrorKind::TokenOutOfRange), "{path}");
    }
}

#[test]
fn all_tokens_of_a_text_are_counted() {
    for path in [BERT, PROMPTED, LLAMA] {
        let short = Encoder::options().max_tokens(6).open(path).unwrap();
        let long = Encoder::open(path).unwrap();
        for text in TEXTS {
            let count = long.tokenize(text).unwrap().ids.len();
            assert_eq!(short.count_tokens(text).unwrap(), count, "{path} {text:?}");
        }
    }
}

#[test]
fn models_are_shared_between_threads() {
    const fn shared<T: Send + Sync>() {}
    shared::<Encoder>();
    shared::<Generator>();
    shared::<Tokenizer>();
    shared::<Words>();
    shared::<Model>();
    shared::<File>();
    shared::<nanoembed::Error>();
    const fn sent<T: Send>() {}
    sent::<nanoembed::Session>();
    sent::<nanoembed::Pieces>();
}

#[test]
fn clones_embed_at_the_same_time() {
    let encoder = Encoder::open(BERT).unwrap();
    let expected = encoder.embed(TEXTS[0]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (encoder, expected) = (encoder.clone(), &expected);
            scope.spawn(move || {
                for _ in 0..8 {
                    assert_eq!(encoder.embed(TEXTS[0]).unwrap(), *expected);
                }
            });
        }
    });
}

#[test]
fn prompts_stand_before_texts_by_their_role() {
    let plain = Encoder::options().prompt(Prefix::Text(String::new())).open(PROMPTED).unwrap();
    let usual = Encoder::open(PROMPTED).unwrap();
    let tokens = usual.tokenize("text").unwrap().ids;
    assert!(tokens.len() > plain.tokenize("text").unwrap().ids.len());
    assert_ne!(usual.embed("text").unwrap(), plain.embed("text").unwrap());
    let (vectors, lengths) = usual.embed_all_as(Role::Text, &["text"]).unwrap();
    assert_eq!(vectors.row(0).unwrap(), usual.embed("text").unwrap());
    assert_eq!((lengths[0].tokens, lengths[0].truncated), (tokens.len(), false));
    let missing = Encoder::options().prompt(Prefix::Named("x".into())).open(PROMPTED);
    assert_eq!(missing.unwrap_err().kind(), Kind::NotFound);
}

#[test]
fn texts_take_the_route_of_their_role() {
    let model = "../tests/data/cases/router-module/model";
    let [query, document] = ["query", "document"].map(|role| -> Vec<Vec<f32>> {
        let path = format!("../tests/data/cases/router-module/{role}.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    });
    let is_close = |vector: &[f32], expected: &[f32]| {
        assert!(vector.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{vector:?}");
    };
    let texts = ["hello password", "world"];
    let encoder = Encoder::open(model).unwrap();
    is_close(&encoder.embed(texts[0]).unwrap(), &document[0]);
    is_close(&encoder.embed_query(texts[0]).unwrap(), &query[0]);
    let documents = encoder.embed_documents(&texts).unwrap();
    is_close(documents.row(1).unwrap(), &document[1]);
    // A prompt for queries says that all texts are.
    let queries = encoder.with_prompt(Prefix::Query).unwrap();
    is_close(&queries.embed(texts[1]).unwrap(), &query[1]);
    is_close(queries.embed_documents(&texts).unwrap().row(1).unwrap(), &query[1]);
    is_close(queries.session().unwrap().embed(texts[0]).unwrap(), &query[0]);
    is_close(&queries.with_prompt(Prefix::Usual).unwrap().embed(texts[0]).unwrap(), &document[0]);
    let opened = Encoder::options().prompt(Prefix::Query).open(model).unwrap();
    is_close(&opened.embed(texts[0]).unwrap(), &query[0]);
    // So does a tokenizer's role.
    let tokenizer = Tokenizer::options().role(Role::Query).open(model).unwrap();
    assert_eq!(tokenizer.encode(texts[0], None).unwrap().ids, [28, 30]);
    assert_eq!(tokenizer.prompt(&Prefix::Query).unwrap(), "");
    let error = tokenizer.prompt(&Prefix::Document).unwrap_err();
    assert_eq!(error.kind(), Kind::Core(ErrorKind::UnsupportedSetting), "{error}");
}

#[test]
fn vectors_can_be_shorter_and_have_length_one_again() {
    let encoder = Encoder::options().truncate_dim(3).normalize(true).open(BERT).unwrap();
    let vector = encoder.embed(TEXTS[0]).unwrap();
    assert_eq!((encoder.dimensions(), vector.len()), (3, 3));
    let length: f64 = vector.iter().map(|x| f64::from(*x).powi(2)).sum();
    assert!((length - 1.0).abs() < 1e-6, "{length}");
    let full = Encoder::open(BERT).unwrap().embed(TEXTS[0]).unwrap();
    assert!(
        (f64::from(full[0]) * f64::from(vector[1]) - f64::from(full[1]) * f64::from(vector[0]))
            .abs()
            < 1e-6
    );
}

#[test]
fn wrong_arguments_are_named() {
    let name = |encoder: nanoembed::Result<Encoder>| {
        let error = encoder.unwrap_err();
        assert_eq!(error.kind(), Kind::Usage, "{error}");
        error.argument_name()
    };
    let options = Encoder::options();
    assert_eq!(name(options.clone().max_tokens(1 << 20).open(BERT)), Some("max_tokens"));
    assert_eq!(name(options.clone().truncate_dim(0).open(BERT)), Some("truncate_dim"));
    assert_eq!(name(options.clone().pooling(Pooling::Last).open(BERT)), Some("pooling"));
    assert_eq!(name(options.requantize(true).open(LLAMA)), Some("requantize"));
    let error = Encoder::options().max_tokens(1 << 20).open(BERT).unwrap_err();
    assert!(error.to_string().starts_with("max_tokens 1048576 is out of range"), "{error}");
}

#[test]
fn errors_say_which_file_and_where() {
    let error = Encoder::open("no/such/file").unwrap_err();
    assert_eq!((error.code(), error.offset()), (501, None));
    assert_eq!(error.path().unwrap().to_str(), Some("no/such/file"));
    assert!(std::error::Error::source(&error).is_some());
    let mut bytes = std::fs::read(BERT).unwrap();
    bytes.truncate(bytes.len() / 2);
    let error = Encoder::from_bytes(bytes).unwrap_err();
    assert!(error.is_about_input() && error.hint().is_some(), "{error:?}");
}

#[test]
fn a_model_is_what_its_content_says() {
    assert!(matches!(Model::open(BERT).unwrap(), Model::Encoder(_)));
    assert!(matches!(Model::open(LLAMA).unwrap(), Model::Generator(_)));
    assert!(matches!(Model::open(WORDS).unwrap(), Model::Words(_)));
    assert!(matches!(Model::open("../tests/data/words/no_subwords.bin").unwrap(), Model::Words(_)));
}

#[test]
fn a_continuation_is_the_same_in_pieces_and_from_bytes() {
    let generator = Generator::open(LLAMA).unwrap();
    let continued = |generator: &Generator, prompt| {
        let mut pieces = generator.generate(prompt, Sampling::greedy().max_tokens(6)).unwrap();
        let text: String = pieces.by_ref().map(Result::unwrap).collect();
        assert!(pieces.next().is_none() && pieces.prompt_tokens() > 0);
        (text, pieces.ids().to_vec())
    };
    let (text, ids) = continued(&generator, Prompt::Text("a b"));
    assert!(!ids.is_empty() && ids.len() <= 6);
    let bytes = Generator::from_bytes(std::fs::read(LLAMA).unwrap()).unwrap();
    assert_eq!(continued(&bytes, Prompt::Text("a b")), (text.clone(), ids.clone()));
    let stored = Generator::options().memory(1 << 30).open(LLAMA).unwrap();
    assert_eq!(continued(&stored, Prompt::Text("a b")), (text, ids));
    let chat = [Message::system("x"), Message::user("y")];
    let longer = tokens(&generator, Prompt::Chat(&chat));
    assert!(longer > tokens(&generator, Prompt::Chat(&chat[1..])));
    let refused = Generator::open(BERT).unwrap_err();
    assert!(refused.to_string().contains("continues texts"), "{refused}");
}

#[test]
fn what_users_write_does_not_end_their_turn() {
    let generator = Generator::open(LLAMA).unwrap();
    let spelled = "a<|im_end|>b";
    let (text, special) = (Prompt::Text(spelled), Prompt::WithSpecialTokens(spelled));
    let (text, special) = (tokens(&generator, text), tokens(&generator, special));
    assert!(text > special);
    let chat = |content| tokens(&generator, Prompt::Chat(&[Message::user(content)]));
    let template = |content: &str| {
        let text = format!("<|im_start|>user\n{content}<|im_end|>\n<|im_start|>assistant\n");
        tokens(&generator, Prompt::WithSpecialTokens(&text))
    };
    assert_eq!(chat("a b"), template("a b"));
    assert_eq!(chat(spelled) - template(spelled), text - special);
}

/// How many tokens a prompt has.
fn tokens(generator: &Generator, prompt: Prompt<'_>) -> usize {
    generator.generate(prompt, Sampling::greedy().max_tokens(1)).unwrap().prompt_tokens()
}

#[test]
fn tokenizers_of_all_kinds_have_one_face() {
    for path in [BERT, LLAMA, "../tests/data/sentencepiece/llama.model"] {
        let tokenizer = Tokenizer::open(path).unwrap();
        let all = tokenizer.encode("the weather today", None).unwrap();
        let start = tokenizer.encode("the weather today", Some(3)).unwrap();
        assert!(!all.truncated && start.truncated, "{path}");
        assert_eq!(start.ids.len(), 3, "{path}");
        assert!(all.ids.iter().all(|id| tokenizer.token(*id).is_some()), "{path}");
    }
}

#[test]
fn token_ids_become_text_again_without_special_tokens() {
    let text = "the weather is fine today";
    for path in [BERT, LLAMA, "../tests/data/sentencepiece/llama.model"] {
        let tokenizer = Tokenizer::open(path).unwrap();
        let ids = tokenizer.encode(text, None).unwrap().ids;
        assert_eq!(tokenizer.decode(&ids).unwrap(), text, "{path}");
        assert_eq!(tokenizer.decode(&[]).unwrap(), "", "{path}");
        let error = tokenizer.decode(&[ids[0], u32::MAX]).unwrap_err();
        assert_eq!(error.kind(), Kind::Core(ErrorKind::TokenOutOfRange), "{path}");
    }
    for path in [BERT, LLAMA] {
        let encoder = Encoder::open(path).unwrap();
        assert_eq!(encoder.decode(&encoder.tokenize(text).unwrap().ids).unwrap(), text, "{path}");
    }
    let generator = Generator::open(LLAMA).unwrap();
    let mut pieces = generator.generate(Prompt::Text("Once"), Sampling::greedy()).unwrap();
    let said: String = pieces.by_ref().map(Result::unwrap).collect();
    // A continuation keeps the space before its first word.
    assert_eq!(generator.decode(pieces.ids()).unwrap().trim_start(), said.trim_start());
}

#[test]
fn a_converted_tokenizer_decodes_as_the_one_of_its_folder() {
    let folder = "../tests/data/models/bert_cased";
    let out = tempfile::tempdir().unwrap();
    let weights = out.path().join("bert.weights");
    Conversion::new(folder, &weights).run(&Silent).unwrap();
    let [folder, weights] = [folder.as_ref(), &*weights].map(|it| Tokenizer::open(it).unwrap());
    let count = (0..).take_while(|id| folder.token(*id).is_some()).count();
    assert!(count > 20);
    for first in 0..u32::try_from(count).unwrap() {
        let ids: Vec<u32> =
            (first..).step_by(7).take_while(|id| folder.token(*id).is_some()).collect();
        assert_eq!(weights.decode(&ids).unwrap(), folder.decode(&ids).unwrap(), "{ids:?}");
    }
}

#[test]
fn words_of_other_programs_are_looked_up_as_finalfusion_ones() {
    let words = Words::open(WORDS).unwrap();
    assert_eq!(words.iter().count(), words.len());
    let word = words.iter().next().unwrap();
    assert_eq!(words.get(&word).unwrap().unwrap().len(), words.dimensions());
    let found = words.similar(&word, 3).unwrap();
    assert!(found.iter().all(|neighbour| neighbour.word != word));
    assert!(found.is_sorted_by(|a, b| a.similarity >= b.similarity));
    let text = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(text.path(), "one 1 0\ntwo 3 4\nthree 0 2\n").unwrap();
    let words = Words::open(text.path()).unwrap();
    assert_eq!(words.get("two").unwrap().unwrap(), [3.0, 4.0]);
    assert_eq!(words.similar("two", 9).unwrap()[0].word, "three");
    assert_eq!(words.analogy(["one", "two", "three"], 1).unwrap(), []);
    assert_eq!(words.get("four").unwrap(), None);
    assert_eq!(words.similar("four", 1).unwrap_err().kind(), Kind::NotFound);
}

#[test]
fn files_in_memory_are_as_those_on_disk() {
    let words = |name: &str| format!("../tests/data/words/{name}");
    for path in [WORDS.to_owned(), words("no_subwords.bin"), words("licence.floret")] {
        let bytes = std::fs::read(&path).unwrap();
        let [stored, lent] =
            [Words::open(&path), Words::from_bytes(bytes.clone())].map(Result::unwrap);
        assert!(stored.iter().eq(lent.iter()), "{path}");
        for word in stored.iter().take(50).chain(["software".to_owned()]) {
            assert_eq!(stored.get(&word).unwrap(), lent.get(&word).unwrap(), "{path} {word}");
        }
        assert!(matches!(Model::from_bytes(bytes.clone()).unwrap(), Model::Words(_)), "{path}");
        let few = Limits { file_bytes: 10, ..Limits::default() };
        let error = Words::options().limits(few).from_bytes(bytes).unwrap_err();
        assert_eq!(error.kind(), Kind::Core(ErrorKind::OverLimit), "{path}");
    }
    assert!(Words::from_bytes(&b"\x7fELF no words"[..]).is_err());
    for path in [BERT, LLAMA, "../tests/data/gguf/blocks.gguf"] {
        let [stored, lent] =
            [File::open(path).unwrap(), File::from_bytes(std::fs::read(path).unwrap())];
        assert_eq!(stored.format(), lent.format(), "{path}");
        let of = |file: &File| -> Vec<(String, Vec<f32>)> {
            let tensors = file.tensors().unwrap();
            tensors.map(|it| (it.name().to_owned(), it.to_f32().unwrap())).collect()
        };
        assert_eq!(of(&stored), of(&lent), "{path}");
    }
    let error = File::from_bytes(&b"nothing"[..]).tensors().err().unwrap();
    assert!(error.to_string().contains("the file"), "{error}");
}

#[test]
fn the_tensors_of_a_file_are_dequantised() {
    for path in [BERT, LLAMA, "../tests/data/gguf/blocks.gguf"] {
        let file = File::open(path).unwrap();
        let mut count = 0;
        for tensor in file.tensors().unwrap() {
            let elements = tensor.shape().iter().product::<u64>();
            assert_eq!(tensor.to_f32().unwrap().len() as u64, elements, "{tensor:?}");
            count += 1;
        }
        assert!(count > 0, "{path}");
    }
}

/// Counts what a job tells.
#[derive(Default)]
struct Told {
    tasks: Mutex<Vec<Task>>,
    done: AtomicU64,
    ended: AtomicU64,
}

impl Observer for Told {
    fn begin(&self, task: Task) {
        self.tasks.lock().unwrap().push(task);
    }

    fn advance(&self, by: u64) {
        self.done.fetch_add(by, Ordering::Relaxed);
    }

    fn end(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_conversion_tells_how_far_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    let told = Told::default();
    Conversion::new(BERT, path("watched.amb")).run(&told).unwrap();
    let tasks = told.tasks.into_inner().unwrap();
    let total: u64 = tasks.iter().filter_map(|task| task.total).sum();
    assert_eq!(told.done.into_inner(), total);
    assert_eq!(told.ended.into_inner(), tasks.len() as u64);
    Conversion::new(BERT, path("silent.amb")).run(&Silent).unwrap();
    let read = |name| std::fs::read(path(name)).unwrap();
    assert_eq!(read("watched.amb"), read("silent.amb"));
}

#[test]
fn a_conversion_to_gguf_is_a_migration_and_refuses_what_it_cannot_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/models/xlmr_bge_m3");
    let converted = Conversion::new(model, path("a.gguf")).run(&Silent).unwrap();
    let migrated = Migration::new([model], path("b.gguf")).run(&Silent).unwrap();
    assert_eq!(converted.files.len(), migrated.len());
    let read = |name| std::fs::read(path(name)).unwrap();
    assert!(read("a.gguf") == read("b.gguf"));
    let conversion = |name| Conversion::new(model, path(name));
    for (conversion, option) in [
        (conversion("c.gguf").weight_type(WeightType::Int8), "type"),
        (conversion("c.gguf").name(Some("model".into())), "name"),
        (conversion("c.amb").for_web(true), "for_web"),
        (conversion("c.weights").block(32), "block"),
        (conversion("c.weights").weight_type(WeightType::Int8).bits(5.0), "bits"),
        (conversion("c").to(ModelTarget::Amb).calibrate(path("texts")), "calibrate"),
    ] {
        let refused = conversion.run(&Silent).unwrap_err();
        assert_eq!((refused.code(), refused.argument_name()), (601, Some(option)));
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
}

#[test]
fn settings_change_for_a_call_and_the_model_is_shared() {
    let usual = Encoder::open(PROMPTED).unwrap();
    let plain = usual.with_prompt(Prefix::Text(String::new())).unwrap();
    let opened = Encoder::options().prompt(Prefix::Text(String::new())).open(PROMPTED).unwrap();
    assert_eq!(plain.embed("text").unwrap(), opened.embed("text").unwrap());
    assert_ne!(plain.embed("text").unwrap(), usual.embed("text").unwrap());
    assert_eq!(usual.with_prompt(Prefix::Named("x".into())).unwrap_err().kind(), Kind::NotFound);

    let encoder = Encoder::open(BERT).unwrap();
    let short = encoder.with_truncate_dim(5).unwrap();
    let (whole, cut) = (encoder.embed_all(&TEXTS).unwrap(), short.embed_all(&TEXTS).unwrap());
    assert_eq!(cut.dimensions(), 5);
    for ((whole, cut), text) in whole.rows().zip(cut.rows()).zip(&TEXTS) {
        assert_eq!(&whole[..5], cut);
        let unit = short.with_normalize(true).embed(text).unwrap();
        assert!((unit.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-6);
    }
    for dimensions in [0, encoder.dimensions() + 1] {
        let error = encoder.with_truncate_dim(dimensions).unwrap_err();
        assert_eq!((error.kind(), error.argument_name()), (Kind::Usage, Some("truncate_dim")));
    }
}

/// Cancels when so many texts are done.
struct CancelAt(AtomicU64, u64);

impl Observer for CancelAt {
    fn advance(&self, by: u64) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= self.1
    }
}

#[test]
fn embedding_ends_when_it_is_cancelled() {
    // More than are tokenised at once.
    let texts: Vec<String> = (0..5000).map(|i| format!("text {i}")).collect();
    for path in [BERT, LLAMA] {
        let encoder = Encoder::options().threads(2).open(path).unwrap();
        let mut out = vec![0.0; texts.len() * encoder.dimensions()];
        let watch = CancelAt(AtomicU64::new(0), 100);
        let error = encoder.embed_into(Role::Text, &texts, &mut out, &watch).unwrap_err();
        assert_eq!((error.kind(), error.code()), (Kind::Cancelled, 604), "{path}");
        let done = watch.0.load(Ordering::SeqCst);
        assert!((100..1000).contains(&done), "{path}: {done} texts after 100");
    }
    let encoder = Encoder::open(BERT).unwrap();
    let mut out = vec![0.0; texts.len() * encoder.dimensions()];
    let watch = CancelAt(AtomicU64::new(0), u64::MAX);
    let lengths = encoder.embed_into(Role::Text, &texts, &mut out, &watch).unwrap();
    assert_eq!((lengths.len(), watch.0.load(Ordering::SeqCst)), (5000, 5000));
    for i in [0, 4095, 4096, 4999] {
        let row = &out[i * encoder.dimensions()..][..encoder.dimensions()];
        assert_eq!(encoder.embed(&texts[i]).unwrap(), row, "text {i}");
    }
    let error = encoder.embed_into(Role::Text, &texts, &mut out[1..], &Silent).unwrap_err();
    assert_eq!(error.argument_name(), Some("out"));
}

#[test]
fn words_of_the_file_are_told_from_those_that_subwords_make() {
    let words = Words::open(WORDS).unwrap();
    assert!(words.contains(&words.iter().next().unwrap()).unwrap());
    assert!(!words.contains("no word of the file").unwrap());
}

#[test]
fn options_that_a_kind_of_model_does_not_have_are_refused_by_name() {
    let refused = |options: ModelOptions, path: &str| {
        options.open(path).unwrap_err().argument_name().unwrap().to_owned()
    };
    assert_eq!(refused(Model::options().memory(1 << 30), BERT), "memory");
    assert_eq!(refused(Model::options().max_tokens(8), WORDS), "max_tokens");
    assert_eq!(refused(Model::options().requantize(true), LLAMA), "requantize");
    let Model::Encoder(encoder) = Model::options().max_tokens(8).open(BERT).unwrap() else {
        panic!("no encoder")
    };
    assert_eq!(encoder.max_tokens(), 8);
    let bytes = std::fs::read(LLAMA).unwrap();
    assert!(matches!(Model::options().from_bytes(bytes).unwrap(), Model::Generator(_)));
    let stored = Model::options().memory(1 << 30).open(LLAMA).unwrap();
    assert!(matches!(stored, Model::Generator(_)));
}

#[test]
fn what_asks_for_more_than_the_limits_is_refused_by_their_names() {
    let over = Kind::Core(ErrorKind::OverLimit);
    let of_files = |most| Limits { file_bytes: most, ..Limits::default() };
    let of_sessions = |most| Limits { session_bytes: most, ..Limits::default() };
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/models");
    let (folder, reranker) = (format!("{models}/bert_cased"), format!("{models}/cross_encoder"));
    let uqff = format!("{models}/../uqff/mistralrs-0.9.5/qwen3_embedding-afq8");
    // What the weights take on disk, and the message of one byte less.
    let own = |path: &str, parts: &[&str]| -> u64 {
        parts.iter().map(|part| std::fs::metadata(format!("{path}{part}")).unwrap().len()).sum()
    };
    let opened = |path: &str, limits| Model::options().limits(limits).open(path).map(|_| ());
    for (path, parts) in [
        (BERT, &[""][..]),
        (LLAMA, &[""]),
        (&folder, &["/model.safetensors", "/2_Dense/model.safetensors"]),
        (&reranker, &["/model.safetensors"]),
        (&uqff, &["/afq8-0.uqff", "/residual.safetensors"]),
    ] {
        let bytes = own(path, parts);
        opened(path, of_files(bytes)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let error = opened(path, of_files(bytes - 1)).unwrap_err();
        assert_eq!(error.kind(), over, "{path}: {error}");
        assert!(error.to_string().contains("`file_bytes`"), "{error}");
    }
    for path in [BERT, LLAMA, &folder, &uqff] {
        let error = Encoder::options().limits(of_sessions(1000)).open(path).unwrap_err();
        assert_eq!(error.kind(), over, "{path}: {error}");
        assert!(error.to_string().contains("`session_bytes`"), "{error}");
    }
    assert_eq!(opened(&reranker, of_sessions(1000)).unwrap_err().kind(), over);
}

#[test]
fn limits_of_files_hold_for_whatever_reads_them() {
    let limits = |most| Limits { file_bytes: most, ..Limits::default() };
    let tokens = |path: &str, limits| Tokenizer::options().limits(limits).open(path).map(drop);
    let words = |path: &str, limits| Words::options().limits(limits).open(path).map(drop);
    let by_content = |path: &str, limits| Model::options().limits(limits).open(path).map(drop);
    // Its weights stay in the file; that they are not mapped is no reason to take a larger one.
    let in_pieces = |path: &str, limits| {
        Generator::options().memory(1 << 30).limits(limits).open(path).map(drop)
    };
    let of_any_kind =
        |path: &str, limits| Model::options().memory(1 << 30).limits(limits).open(path).map(drop);
    type Open<'o> = &'o dyn Fn(&str, Limits) -> nanoembed::Result<()>;
    for (path, open) in [
        (BERT, &tokens as Open<'_>),
        (LLAMA, &tokens),
        (WORDS, &words),
        (WORDS, &by_content),
        (LLAMA, &in_pieces),
        (LLAMA, &of_any_kind),
    ] {
        let bytes = std::fs::metadata(path).unwrap().len();
        open(path, limits(bytes)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let error = open(path, limits(bytes - 1)).unwrap_err();
        assert_eq!(error.kind(), Kind::Core(ErrorKind::OverLimit), "{path}: {error}");
        assert!(error.to_string().contains("`file_bytes`"), "{error}");
    }
}

/// The least limit of a session with which something is allowed.
fn least(is_allowed: impl Fn(Limits) -> bool) -> u64 {
    let (mut refused, mut allowed) = (0, 1 << 26);
    while allowed - refused > 1 {
        let middle = u64::midpoint(refused, allowed);
        let limits = Limits { session_bytes: middle, ..Limits::default() };
        match is_allowed(limits) {
            true => allowed = middle,
            false => refused = middle,
        }
    }
    allowed
}

#[test]
fn a_limit_of_memory_is_one_of_tokens() {
    let reranker = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/models/cross_encoder");
    let opens = |tokens, limits| {
        CrossEncoder::options().max_tokens(tokens).limits(limits).open(reranker).is_ok()
    };
    let few = least(|limits| opens(8, limits));
    let many = least(|limits| opens(64, limits));
    assert!((1 << 10..1 << 26).contains(&few) && 4 * few < many, "{few} {many}");

    // A generator's text is as long as its caller asks.
    let continues = |tokens, limits| {
        let generator = Generator::options().limits(limits).open(LLAMA).unwrap();
        let sampling = Sampling::greedy().max_tokens(tokens);
        generator.generate(Prompt::Text("Once"), sampling).map(|_| ())
    };
    let least_bytes = least(|limits| continues(1, limits).is_ok());
    let limits = Limits { session_bytes: least_bytes, ..Limits::default() };
    let error = continues(2, limits).unwrap_err();
    assert_eq!(error.kind(), Kind::Core(ErrorKind::OverLimit), "{error}");
}

#[test]
fn texts_go_on_alike_from_ids_step_by_step_and_watched() {
    let generator = Generator::open(LLAMA).unwrap();
    let prompt = "the weather today ".repeat(12);
    let ids = generator.encode(Prompt::Text(&prompt)).unwrap();
    // More than are read at once.
    assert!(ids.len() > 128, "{}", ids.len());
    let sampling = Sampling::default().seed(4).max_tokens(8);
    let mut pieces = generator.generate(Prompt::Text(&prompt), sampling).unwrap();
    assert_eq!(pieces.finish_reason(), None);
    let text: String = pieces.by_ref().map(Result::unwrap).collect();
    assert_eq!(pieces.finish_reason(), Some(FinishReason::Length));
    let watch = CancelAt(AtomicU64::new(0), u64::MAX);
    let mut stepped = generator.generate_watched(Prompt::Ids(&ids), sampling, &watch).unwrap();
    assert_eq!(watch.0.into_inner(), ids.len() as u64);
    let mut joined = String::new();
    while let Some(piece) = stepped.step() {
        joined.push_str(&piece.unwrap());
    }
    assert_eq!((joined, stepped.ids()), (text, pieces.ids()));
    // Cancelled before all of the prompt is read.
    let watch = CancelAt(AtomicU64::new(0), 1);
    let error = generator.generate_watched(Prompt::Ids(&ids), sampling, &watch).unwrap_err();
    assert_eq!(error.kind(), Kind::Cancelled);
    assert!(watch.0.into_inner() < ids.len() as u64);
}

#[test]
fn decoders_are_for_embeddings_where_their_file_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let converted = |model: &str, name: &str| {
        let path = folder.path().join(name);
        Conversion::new(model, &path).run(&Silent).unwrap();
        Generator::open(path).unwrap().purpose()
    };
    assert_eq!(Generator::open(LLAMA).unwrap().purpose(), Purpose::Continue);
    let pooled = Generator::from_bytes(with_pooling(std::fs::read(LLAMA).unwrap())).unwrap();
    assert_eq!(pooled.purpose(), Purpose::Embed);
    // The file has the pooling that llama.cpp takes where nothing is said.
    assert_eq!(converted(LLAMA, "b.amb"), Purpose::Unclear);
    let decoder = "../tests/data/cases/llama-llama3-scaling/model";
    assert_eq!(Generator::open(decoder).unwrap().purpose(), Purpose::Continue);
}

/// The GGUF file with two more keys: `llama.pooling_type`, and a name of the length that keeps the
/// tensors aligned.
fn with_pooling(mut file: Vec<u8>) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let pooling = [text("llama.pooling_type"), vec![4, 0, 0, 0, 3, 0, 0, 0]].concat();
    let name = [text("general.name"), vec![8, 0, 0, 0], text(&"x".repeat(30))].concat();
    let members = [pooling, name].concat();
    assert_eq!(members.len() % 32, 0);
    file[16] += 2;
    file.splice(24..24, members);
    file
}

#[test]
fn temperatures_and_probabilities_are_refused_by_name() {
    let generator = Generator::open(LLAMA).unwrap();
    let refused = |sampling: Sampling| {
        generator.generate(Prompt::Text("a"), sampling).unwrap_err().argument_name()
    };
    let usual = Sampling::default();
    for temperature in [-0.1, f32::NAN, f32::INFINITY] {
        assert_eq!(refused(usual.temperature(temperature)), Some("temperature"));
    }
    for top_p in [-0.1, 1.1, f32::NAN] {
        assert_eq!(refused(usual.top_p(top_p)), Some("top_p"));
    }
}
