//! The tokenizer of a folder: `tokenizer.json` as a whole, or BERT's files as transformers reads
//! them.

use std::borrow::Cow;
use std::path::Path;

use nanoembed_core::owned::folder::{FolderModel, TokenizerConfig};
use nanoembed_core::owned::{AddedWord, Pipeline, PipelineSession};
use nanoembed_core::token::AddedRules;
use nanoembed_core::token::spec::{
    AddedTokenSpec, AddedTokenSpecs, BertSpec, JsonPlace, SpecialToken, SpelledText,
};
use nanoembed_core::{ErrorKind, limit};

use crate::checkpoint::wordpiece::FolderTokenizer;
use crate::error::{Error, Result, name_of};
use crate::folder::texts::FolderTexts;
use crate::folder::tokenizer_json::{FILE, SAVE_AGAIN, described, failed};

/// Reads the tokenizer of a model from the texts of its own folder.
pub(super) fn read(texts: &FolderTexts, model: &FolderModel) -> Result<Pipeline> {
    if model.has_words() {
        return texts.read(|texts| FolderModel::word_tokenizer(texts, ""));
    }
    let text = texts.get(FILE)?;
    let config = texts.read(|texts| TokenizerConfig::read(texts, ""))?;
    let is_bert = config.is_bert(model.family())
        && text.as_deref().is_some_and(TokenizerConfig::has_word_pieces);
    let pipeline = match text.as_deref().filter(|_| !is_bert) {
        Some(text) => {
            let pipeline = match model.is_table() {
                true => failed(texts, Pipeline::read_alone(text))?,
                false => described(texts, text)?,
            };
            texts
                .read(|texts| config.check(texts, &pipeline))
                .map_err(|failure| failure.with_hint(SAVE_AGAIN))?;
            pipeline
        }
        None => {
            let folder = texts.tokenizer_folder();
            bert_pipeline(&FolderTokenizer::read(folder, texts.allowed())?, folder)?
        }
    };
    texts.read(|_| model.check_late_tokens(&pipeline))?;
    if model.compares_by_types() {
        texts.read(|_| config.check_pairs(&pipeline))?;
        if let Some(text) = text.as_deref().filter(|_| is_bert) {
            check_template(&described(texts, text)?, &pipeline)?;
        }
    }
    Ok(pipeline)
}

/// Refuses another template for two texts than that of BERT's class, which is what runs.
fn check_template(described: &Pipeline, pipeline: &Pipeline) -> Result<()> {
    let pair = |of: &Pipeline| {
        let pair = of.encode_pair("a", "b", usize::MAX, &mut PipelineSession::default());
        pair.map(|pair| (pair.ids, pair.types))
            .map_err(|error| Error::in_file(FILE.to_owned(), error))
    };
    if pair(described)? == pair(pipeline)? {
        return Ok(());
    }
    let message = "`post_processor.pair` does not put [CLS] before two texts and [SEP] after each, the second one of type 1; only that is honoured";
    Err(Error::input(ErrorKind::UnsupportedSetting, message).at(FILE.to_owned()))
}

/// BERT's tokenizer as a pipeline.
fn bert_pipeline(tokenizer: &FolderTokenizer, folder: &Path) -> Result<Pipeline> {
    let FolderTokenizer { vocabulary, lower_case, strip_accents, split_ideographs, .. } = tokenizer;
    let failed = |error| Error::in_file(name_of(folder), error);
    let tokens = vocabulary.tokens.iter().map(|token| String::from_utf8_lossy(token));
    let tokens: Vec<Cow<'_, str>> = limit::exactly(tokens).map_err(failed)?;
    let tokens: Vec<&str> = limit::exactly(tokens.iter().map(|token| &**token)).map_err(failed)?;
    let spelled = |id: u32| {
        let token = usize::try_from(id).ok().and_then(|at| tokens.get(at));
        SpelledText::plain(token.copied().unwrap_or_default())
    };
    let [begin, end] = [2, 3].map(|role: usize| {
        let id = vocabulary.special[role];
        SpecialToken { id, name: spelled(id) }
    });
    let special = vocabulary.special.iter().map(|id| AddedTokenSpec {
        id: *id,
        content: spelled(*id),
        rules: AddedRules::default(),
        normalized: false,
        special: true,
        place: JsonPlace::NONE,
    });
    let words = vocabulary.added.iter().map(|word: &AddedWord| AddedTokenSpec {
        id: word.id,
        content: SpelledText::plain(&word.spelling),
        rules: word.rules,
        normalized: word.normalized,
        special: false,
        place: JsonPlace::NONE,
    });
    let added: Vec<AddedTokenSpec<'_>> = limit::collected(special.chain(words)).map_err(failed)?;
    let spec = BertSpec {
        added: AddedTokenSpecs::Listed(&added),
        splits_ideographs: *split_ideographs,
        strips_accents: *strip_accents,
        lowercases: *lower_case,
        begin,
        end,
        unknown: spelled(vocabulary.special[1]),
        tokens: tokens.len(),
    };
    Pipeline::from_spec(&spec.into(), &tokens, None, &[]).map_err(|fault| failed(fault.error))
}
