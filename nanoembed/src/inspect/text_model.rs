//! What keeps a model of texts in one file from being opened.

use nanoembed_core::ErrorKind;
use nanoembed_core::model::ModelSource;

use crate::error::Kind;
use crate::open::text_source::TextSource;

/// What is wrong with the model in `bytes`, if it is described by the texts of its folder.
pub(super) fn fault(bytes: &[u8], source: ModelSource<'_>) -> Option<(ErrorKind, String)> {
    let opened = TextSource::of_file("the model", bytes, source);
    let opened = opened.and_then(|source| source.map(|source| source.open_model()).transpose());
    let failure = opened.err()?;
    let kind = match failure.kind() {
        Kind::Core(kind) => kind,
        _ => ErrorKind::BadMetadata,
    };
    Some((kind, failure.to_string()))
}
