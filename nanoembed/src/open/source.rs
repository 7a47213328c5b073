//! Sources of models: a file, several, bytes, or the program itself.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use nanoembed_core::limit::Boxed;

use super::folder::files::EncoderFolder;
use super::reading::Reading;
use crate::bytes::Bytes;
use crate::causal::bundle::Bundle;
use crate::error::{Error, Result, name_of};
use crate::files::hub_cache;
use crate::files::mapped_file::MappedFile;
use crate::folder::texts::Allowed;
use crate::role::Role;
use crate::stored::file_names::{is_safetensors, is_uqff_name};
use crate::stored::{diagnosis, gguf_parts};

/// Bytes at the start of a cache line, as the tensors in the file are relative to its start.
#[cfg(model_is_built_in)]
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

#[cfg(model_is_built_in)]
static BUILT_IN: &Aligned<[u8]> =
    &Aligned(*include_bytes!("../../../models/all-MiniLM-L6-v2.int8.weights"));

/// The names of the model that is part of the program.
const BUILT_IN_NAMES: [&str; 2] = ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"];

/// The name of the model that is part of the program, if there is one.
#[must_use]
pub const fn built_in_name() -> Option<&'static str> {
    if cfg!(model_is_built_in) { Some(BUILT_IN_NAMES[0]) } else { None }
}

/// True if `path` is no file but the name of the model that is part of the program.
pub fn is_built_in_name(path: &Path) -> bool {
    cfg!(model_is_built_in)
        && BUILT_IN_NAMES.iter().any(|name| path == Path::new(name))
        && !path.exists()
}

/// True if `path` is no file but a name by which a model is known: that of the one that is part of the
/// program, or of one in the cache of the Hugging Face hub.
#[must_use]
pub fn is_known_name(path: &Path) -> bool {
    is_built_in_name(path) || matches!(hub_cache::resolved(path), Cow::Owned(_))
}

/// A model's file, or its files.
pub struct Source {
    name: String,
    content: Content,
    /// The role of texts for which it was opened.
    role: Role,
    /// Unknown settings that are ignored.
    allowed: Arc<Allowed>,
    /// True for the model that is part of the program.
    is_built_in: bool,
}

pub(super) enum Content {
    /// A file that holds everything.
    Whole(Bytes),
    /// A causal model in several files.
    Bundle(Boxed<Bundle>),
    /// A model of a folder that embeds or compares texts.
    Folder(Boxed<EncoderFolder>),
}

impl Source {
    /// Opens `path`: a file, its first part, or a folder, whose model is used without conversion.
    /// `-` is stdin; the name of the model that is part of the program means that, and the name of
    /// one in the cache of the Hugging Face hub that, unless there is such a file.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, &Reading::default())
    }

    /// The same, read as `reading` says. Settings that are ignored have [`warnings`](Self::warnings).
    pub fn open_with(path: &Path, reading: &Reading) -> Result<Self> {
        if is_built_in_name(path) {
            reading.check_without_folder()?;
            return Self::built_in();
        }
        let found = hub_cache::resolved(path);
        let source = Self::open_there(&found, reading)?;
        Ok(match found {
            Cow::Borrowed(_) => source,
            Cow::Owned(_) => Self { name: name_of(path), ..source },
        })
    }

    fn open_there(path: &Path, reading: &Reading) -> Result<Self> {
        let (role, allowed) = (reading.role, Arc::new(Allowed::new(&reading.unknown)));
        if let Some(bundle) = Bundle::open_allowing(path, &allowed)? {
            if reading.adapter.is_some() {
                let message = "is for models that embed or compare texts, and this continues texts";
                return Err(Error::argument("adapter", message));
            }
            let name = bundle.name();
            allowed.check()?;
            let content = Boxed::new(bundle).map(Content::Bundle);
            let content = content.map_err(|error| Error::in_file(&name, error))?;
            return Ok(Self { allowed, ..Self::new(name, content) });
        }
        if path.is_dir() || is_safetensors(path) || is_uqff_name(path) {
            let adapter = reading.adapter.as_deref();
            let folder = EncoderFolder::open_for(path, adapter, role, &allowed)?;
            allowed.check()?;
            return Ok(Self { role, allowed, ..Self::from_folder(folder)? });
        }
        reading.check_without_folder()?;
        let bytes = gguf_parts::whole(path, MappedFile::open(path)?)?;
        Ok(Self { allowed, ..Self::new(name_of(path), Content::Whole(bytes.into())) })
    }

    fn new(name: impl Into<String>, content: Content) -> Self {
        let (name, role, allowed) = (name.into(), Role::Text, Arc::default());
        Self { name, content, role, allowed, is_built_in: false }
    }

    fn from_folder(folder: EncoderFolder) -> Result<Self> {
        let name = folder.name();
        let content = Boxed::new(folder).map(Content::Folder);
        let content = content.map_err(|error| Error::in_file(&name, error))?;
        Ok(Self::new(name, content))
    }

    /// The role of texts for which it was opened.
    pub(crate) const fn role(&self) -> Role {
        self.role
    }

    /// The name of the route that texts of its role take; `None` for a model without a Router.
    pub fn route(&self) -> Option<&str> {
        match &self.content {
            Content::Folder(folder) => folder.route(),
            Content::Bundle(_) | Content::Whole(_) => None,
        }
    }

    /// The name of the route that texts of a role take; `None` for a model without a Router.
    pub(crate) fn route_for(&self, role: Role) -> Result<Option<String>> {
        match &self.content {
            Content::Folder(folder) => folder.route_for(role),
            Content::Bundle(_) | Content::Whole(_) => Ok(None),
        }
    }

    /// True if texts of this role take another route than those for which the model was opened.
    pub(crate) fn takes_another_route(&self, role: Role) -> Result<bool> {
        Ok(self.route().is_some() && self.route_for(role)?.as_deref() != self.route())
    }

    /// The same model for texts of another role: `None` if they take the same route.
    pub(crate) fn reopened_for(&self, role: Role) -> Result<Option<Self>> {
        let Content::Folder(folder) = &self.content else { return Ok(None) };
        if !self.takes_another_route(role)? {
            return Ok(None);
        }
        let folder = folder.reopened_for(role)?;
        let allowed = Arc::clone(&self.allowed);
        Ok(Some(Self { role, allowed, ..Self::from_folder(folder)? }))
    }

    /// The file of a layer beside a folder's modules whose weights are pickled, which is not read.
    pub(crate) fn pickled(&self, layer: &str) -> Option<String> {
        match &self.content {
            Content::Folder(folder) => folder.pickled(layer),
            Content::Bundle(_) | Content::Whole(_) => None,
        }
    }

    /// A file in memory.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Self {
        Self::new("the model", Content::Whole(bytes.into()))
    }

    /// The same, read as `reading` says.
    pub fn from_bytes_with(bytes: impl Into<Bytes>, reading: &Reading) -> Result<Self> {
        reading.check_without_folder()?;
        let allowed = Arc::new(Allowed::new(&reading.unknown));
        Ok(Self { allowed, ..Self::from_bytes(bytes) })
    }

    /// The structure of the file called `name`, without its weights.
    pub(crate) fn structure(name: String, bytes: MappedFile) -> Self {
        Self::new(name, Content::Whole(bytes.into()))
    }

    /// The model that is part of the program.
    pub fn built_in() -> Result<Self> {
        #[cfg(model_is_built_in)]
        {
            let source = Self::new("the default model", Content::Whole(BUILT_IN.0.into()));
            Ok(Self { is_built_in: true, ..source })
        }
        #[cfg(not(model_is_built_in))]
        {
            Err(Error::usage("this program was built without a default model").with_hint(concat!(
                "name one with `--model FILE`; `cargo install --git ",
                env!("CARGO_PKG_REPOSITORY"),
                " nanoembed-cli` builds one in"
            )))
        }
    }

    /// True for the model that is part of the program.
    pub(crate) const fn is_built_in(&self) -> bool {
        self.is_built_in
    }

    /// A warning for each unknown setting that is ignored.
    pub fn warnings(&self) -> Vec<String> {
        self.allowed.warnings()
    }

    /// The unknown settings that are ignored.
    pub(crate) fn allowed(&self) -> &Allowed {
        &self.allowed
    }

    pub(super) const fn content(&self) -> &Content {
        &self.content
    }

    /// The bytes of all files that hold weights.
    pub fn bytes(&self) -> u64 {
        match &self.content {
            Content::Whole(bytes) => bytes.len() as u64,
            Content::Bundle(bundle) => bundle.bytes(),
            Content::Folder(folder) => folder.bytes(),
        }
    }

    /// The name that messages give to the model.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The core's error with the name of the file.
    pub(crate) fn failure(&self, error: nanoembed_core::Error) -> Error {
        let bytes: &[u8] = match &self.content {
            Content::Bundle(_) | Content::Folder(_) => &[],
            Content::Whole(bytes) => bytes,
        };
        diagnosis::failure(&self.name, bytes, error)
    }
}
