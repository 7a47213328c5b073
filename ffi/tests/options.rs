//! Options of models with memory of their own: each is what the model does, or refused by its name.

mod support {
    pub(crate) mod embed;
    pub(crate) mod errors;
    pub(crate) mod handles;
    pub(crate) mod source;
}

use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use nanoembed::Silent;
use nanoembed::convert::{Conversion, WeightType};
use nanoembed_core::ErrorKind;
use nanoembed_ffi::embed::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::owned::*;
use nanoembed_ffi::score::nanoembed_score;
use nanoembed_ffi::status::*;

use crate::support::embed::vector;
use crate::support::errors;
use crate::support::handles::Handles;
use crate::support::source::in_memory;

const TEXT: &str = "How do I reset my password?";

impl Handles {
    fn info(&self) -> nanoembed_model_info {
        let mut info = nanoembed_model_info::default();
        // SAFETY: the handle is good, and there is room.
        assert_eq!(unsafe { nanoembed_model_get_info(self.model, &mut info) }, NANOEMBED_OK);
        info
    }

    fn vector(&self) -> Result<Vec<u32>, nanoembed_status> {
        let dimensions = self.info().dimensions as usize;
        let found = vector(self.model, self.workspace, dimensions, TEXT)?.0;
        Ok(found.iter().map(|x| x.to_bits()).collect())
    }

    fn of_ids(&self, count: usize) -> nanoembed_status {
        let (ids, mut out) = (vec![1; count], vec![0.0; self.info().dimensions as usize]);
        let (model, workspace, at, room) = (self.model, self.workspace, ids.as_ptr(), out.len());
        // SAFETY: handles are good, and the rest lies here.
        unsafe {
            nanoembed_embed_ids(model, workspace, at, count, out.as_mut_ptr(), room, null_mut())
        }
    }
}

/// The model in a file in memory, which outlives it.
fn new(
    file: &[u8],
    options: &nanoembed_model_options,
) -> Result<Handles, (nanoembed_status, String)> {
    let source = in_memory(file);
    // SAFETY: everything is there.
    Handles::of(|model, error| unsafe { nanoembed_model_new(&source, options, model, error) })
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A folder's model in a file of another format. Another one each time: tests run side by side.
fn converted(folder: &str, ending: &str, weight_type: WeightType) -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let file = format!("options-{}.{ending}", NEXT.fetch_add(1, Ordering::Relaxed));
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    let folder = here("../tests/data/models").join(folder);
    let conversion = Conversion::new(folder, &file).weight_type(weight_type);
    conversion.run(&Silent).expect("it is converted");
    file
}

fn with(change: impl FnOnce(&mut nanoembed_model_options)) -> nanoembed_model_options {
    let mut options = nanoembed_model_options::default();
    change(&mut options);
    options
}

#[test]
fn what_a_model_cannot_do_is_refused_by_the_option_s_name() {
    let invalid = |name: &str| Some((ErrorKind::InvalidArgument.code().into(), name.to_owned()));
    let refused = [
        (with(|it| it.activations = 99), "activations"),
        (with(|it| it.activations = NANOEMBED_ACTIVATIONS_FIXED), "activations"),
        (with(|it| it.vocabulary = 99), "vocabulary"),
        (with(|it| it.vocabulary = NANOEMBED_VOCABULARY_IN_FILE), "vocabulary"),
    ];
    let (bert, table) =
        (here("tests/data/small_bert.weights"), here("tests/data/small_table.weights"));
    let gguf = converted("nomic_bert", "gguf", WeightType::F32);
    let family = converted("nomic_bert", "weights", WeightType::F32);
    let folder = here("../tests/data/models/cross_encoder");
    for path in [&bert, &table, &gguf, &family, &folder] {
        for (options, name) in &refused {
            let found = Handles::at(path, options).err();
            assert_eq!(found, invalid(name), "{}: {options:?}", path.display());
        }
        let found = Handles::at(path, &with(|it| it.tokens = 1)).err();
        assert_eq!(found, if path == &table { None } else { invalid("tokens") });
        if path != &table {
            let found = Handles::at(path, &with(|it| it.tokens = 70_000)).err();
            assert_eq!(found, invalid("tokens"), "{}", path.display());
        }
    }
    let quantized = with(|it| it.activations = NANOEMBED_ACTIVATIONS_QUANTIZED);
    assert_eq!(Handles::at(&table, &quantized).err(), invalid("activations"));

    // What needs memory of its own in memory, too.
    for path in [gguf, family] {
        let file = std::fs::read(&path).expect("a file");
        for (options, name) in &refused {
            assert_eq!(new(&file, options).err(), invalid(name), "{options:?}");
        }
        for tokens in [1, 70_000] {
            assert_eq!(new(&file, &with(|it| it.tokens = tokens)).err(), invalid("tokens"));
        }
    }
}

#[test]
fn a_path_is_computed_as_the_same_file_in_memory() {
    let model = here("../models/all-MiniLM-L6-v2.int8.weights");
    let small =
        ["small_bert", "default_prompt"].map(|name| here(&format!("tests/data/{name}.weights")));
    for path in small.iter().chain([&model]) {
        let file = std::fs::read(path).expect("a file");
        let choices = [
            NANOEMBED_ACTIVATIONS_AUTO,
            NANOEMBED_ACTIVATIONS_FLOAT,
            NANOEMBED_ACTIVATIONS_QUANTIZED,
        ];
        let vectors = choices.map(|activations| {
            let options = with(|it| {
                it.activations = activations;
                it.block_tokens = 3;
            });
            let by_path = Handles::at(path, &options).expect("it opens");
            let in_memory = new(&file, &options).expect("it opens");
            let vector = by_path.vector().expect("a vector");
            assert_eq!(
                Ok(&vector),
                in_memory.vector().as_ref(),
                "{}: {activations}",
                path.display()
            );
            let quantized = by_path.info().quantized;
            assert_eq!(quantized, in_memory.info().quantized, "{}", path.display());
            if activations != NANOEMBED_ACTIVATIONS_AUTO {
                assert_eq!(quantized, u32::from(activations == NANOEMBED_ACTIVATIONS_QUANTIZED));
            }
            vector
        });
        // The others' weights are floats, with which nothing is quantised.
        let [_, float, quantized] = vectors;
        assert_eq!(float != quantized, path == &model, "{}", path.display());
    }
}

#[test]
fn activations_of_other_families_are_those_that_are_asked_for() {
    for folder in ["nomic_bert", "roberta"] {
        let path = converted(folder, "weights", WeightType::Int8);
        let [float, quantized] = [NANOEMBED_ACTIVATIONS_FLOAT, NANOEMBED_ACTIVATIONS_QUANTIZED]
            .map(|activations| {
                let model =
                    Handles::at(&path, &with(|it| it.activations = activations)).expect("it opens");
                let is_quantized = activations == NANOEMBED_ACTIVATIONS_QUANTIZED;
                assert_eq!(model.info().quantized, u32::from(is_quantized), "{folder}");
                model.vector().expect("a vector")
            });
        assert_ne!(float, quantized, "{folder}");
    }
}

#[test]
fn a_block_of_tokens_takes_less_memory() {
    let path = here("../models/all-MiniLM-L6-v2.int8.weights");
    let bytes = [0, 8].map(|block_tokens| {
        let model =
            Handles::at(&path, &with(|it| it.block_tokens = block_tokens)).expect("it opens");
        // SAFETY: the handle is good.
        unsafe { nanoembed_workspace_bytes(model.model) }
    });
    assert!(bytes[1] < bytes[0], "{bytes:?}");
}

#[test]
fn without_a_vocabulary_texts_come_as_ids() {
    let missing = u32::from(ErrorKind::MissingVocabulary.code());
    let options = with(|it| it.vocabulary = NANOEMBED_VOCABULARY_NONE);
    let table = here("tests/data/small_table.weights");
    let gguf = converted("nomic_bert", "gguf", WeightType::F32);
    for path in [here("tests/data/small_bert.weights"), table, gguf.clone()] {
        let model = Handles::at(&path, &options).expect("it opens");
        assert_eq!(model.info().has_tokenizer, 0, "{}", path.display());
        assert_eq!((model.vector(), model.of_ids(3)), (Err(missing), NANOEMBED_OK));
        assert_eq!(
            Handles::at(&path, &Default::default()).map(|it| it.info().has_tokenizer),
            Ok(1)
        );
    }
    let file = std::fs::read(&gguf).expect("a file");
    let model = new(&file, &options).expect("it opens");
    assert_eq!((model.vector(), model.of_ids(3)), (Err(missing), NANOEMBED_OK));

    let pairs =
        Handles::at(&here("../tests/data/models/cross_encoder"), &options).expect("it opens");
    let (text, mut score) = (TEXT.as_ptr().cast(), 0.0);
    let (model, workspace, bytes) = (pairs.model, pairs.workspace, TEXT.len());
    // SAFETY: handles are good, and the rest lies here.
    let status = unsafe {
        nanoembed_score(model, workspace, text, bytes, text, bytes, &mut score, null_mut())
    };
    assert_eq!(status, missing);
}

#[test]
fn a_workspace_has_room_for_as_many_tokens_as_were_asked_for() {
    let path = here("tests/data/small_bert.weights");
    let positions = Handles::at(&path, &Default::default()).expect("it opens").info().positions;
    // Texts are not packed: more than one text may have is never used.
    let most = Handles::at(&path, &with(|it| it.tokens = 5000)).expect("it opens");
    assert_eq!(most.info().workspace_tokens, positions);
    assert_eq!(most.of_ids(positions as usize), NANOEMBED_OK);
    let too_many = u32::from(ErrorKind::TooManyTokens.code());
    assert_eq!(most.of_ids(positions as usize + 1), too_many);
    let few = Handles::at(&path, &with(|it| it.tokens = 8)).expect("it opens");
    let too_small = u32::from(ErrorKind::BufferTooSmall.code());
    assert_eq!([7, 8, 9].map(|count| few.of_ids(count)), [NANOEMBED_OK, NANOEMBED_OK, too_small]);
}

/// A folder's model whose `config.json` has two settings that no reader knows.
fn with_unknown_settings() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unknown-settings");
    let model = here("../tests/data/models/nomic_bert");
    drop(std::fs::remove_dir_all(&folder));
    copy(&model, &folder);
    let config = folder.join("config.json");
    let text = std::fs::read_to_string(&config).expect("a text");
    let (start, _) = text.rsplit_once('}').expect("an object");
    let text = format!("{start}, \"is_matryoshka\": true, \"layer_colour\": \"red\"}}");
    std::fs::write(&config, text).expect("it is written");
    folder
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let (from, to) = {
            let entry = entry.expect("an entry");
            (entry.path(), to.join(entry.file_name()))
        };
        if from.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(&from, &to).expect("a copy");
        }
    }
}

fn warnings(model: *const nanoembed_model) -> Vec<String> {
    let warning = |index| {
        // SAFETY: the handle is good.
        let text = unsafe { nanoembed_model_warning(model, index) };
        // SAFETY: it ends with a zero, and lives as long as the model.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8").into())
    };
    (0..).map_while(warning).collect()
}

#[test]
fn unknown_settings_are_ignored_by_name_with_a_warning_each() {
    let unsupported =
        |name: &str| Some((u32::from(ErrorKind::UnsupportedSetting.code()), name.to_owned()));
    let folder = with_unknown_settings();
    let open = |names: &[*const c_char]| {
        Handles::at(
            &folder,
            &with(|it| {
                (it.allow_unknown, it.allow_unknown_count) = (names.as_ptr(), names.len());
            }),
        )
    };
    let names = [c"layer_colour".as_ptr(), c"is_matryoshka".as_ptr()];
    assert_eq!(open(&[]).err(), unsupported("is_matryoshka"));
    assert_eq!(open(&names[..1]).err(), unsupported("is_matryoshka"));
    assert_eq!(open(&names[1..]).err(), unsupported("layer_colour"));
    let invalid = Some((u32::from(ErrorKind::InvalidArgument.code()), "allow_unknown".to_owned()));
    assert_eq!(open(&[names[0], null()]).err(), invalid);
    assert_eq!(open(&[c"\xff".as_ptr()]).err(), invalid);

    let opened = open(&names).expect("it opens");
    let told = warnings(opened.model);
    assert_eq!(told.len(), 2, "{told:?}");
    for (warning, name) in told.iter().zip(["is_matryoshka", "layer_colour"]) {
        assert!(warning.starts_with(&format!("config.json: `{name}` ")), "{warning}");
    }
    let known = Handles::at(&here("../tests/data/models/nomic_bert"), &Default::default());
    let known = known.expect("it opens");
    assert_eq!(opened.vector(), known.vector());
    assert!(warnings(known.model).is_empty());
    // Known settings are honoured or refused whatever is named.
    let model_type = open(&[names[0], names[1], c"n_embd".as_ptr()]).expect("it opens");
    assert_eq!(opened.vector(), model_type.vector());
    // SAFETY: NULL is no model.
    assert!(unsafe { nanoembed_model_warning(null(), 0) }.is_null());
}

#[test]
fn models_in_lent_memory_ignore_no_settings() {
    let file = std::fs::read(here("tests/data/small_bert.weights")).expect("a file");
    let names = [c"layer_colour".as_ptr()];
    let options = with(|it| (it.allow_unknown, it.allow_unknown_count) = (names.as_ptr(), 1));
    let source = in_memory(&file);
    let (mut needed, mut plan, mut error) = (0, nanoembed_plan::default(), Default::default());
    // SAFETY: everything is there.
    let status = unsafe {
        assert_eq!(nanoembed_plan_scratch(&source, &mut needed, &mut error), NANOEMBED_OK);
        let mut scratch = vec![0_u64; needed.div_ceil(8)];
        let at = scratch.as_mut_ptr().cast();
        nanoembed_plan_model(&source, &options, at, needed, &mut plan, &mut error)
    };
    let invalid = u32::from(ErrorKind::InvalidArgument.code());
    assert_eq!((status, &*errors::name(&error)), (invalid, "allow_unknown"));
    // On the heap it opens as without names: nothing in it is unknown.
    assert!(warnings(new(&file, &options).expect("it opens").model).is_empty());
}

#[test]
fn programs_of_the_first_version_know_options_up_to_the_block() {
    let file = std::fs::read(here("tests/data/small_bert.weights")).expect("a file");
    // As a header without the names has it: aligned like a number of 32 bits.
    let mut memory = [0_u32; 9];
    let first = usize::from(memory.as_ptr().addr().is_multiple_of(8));
    let old = &mut memory[first..first + 6];
    old.copy_from_slice(&[24, 8, 0, 0, 0, 0]);
    let options = old.as_ptr().cast::<nanoembed_model_options>();
    let source = in_memory(&file);
    // SAFETY: the struct is as large as it says.
    let opened =
        Handles::of(|model, error| unsafe { nanoembed_model_new(&source, options, model, error) });
    assert_eq!(opened.expect("it opens").info().workspace_tokens, 8);
    old[0] = 20;
    let options = old.as_ptr().cast::<nanoembed_model_options>();
    // SAFETY: the struct is as large as it says.
    let refused =
        Handles::of(|model, error| unsafe { nanoembed_model_new(&source, options, model, error) });
    assert_eq!(refused.err().map(|it| it.0), Some(ErrorKind::InvalidArgument.code().into()));
}
