//! The models of a server, by name.

use std::path::Path;

use nanoembed::{
    Encoder, Error, Generator, Model, ModelOptions, Purpose, Reranker, Result, VectorKind,
};

/// The name of the model that is part of the program.
const BUILT_IN: &str = "all-MiniLM-L6-v2";

/// The models of a server, by name. Requests that name none are for the first that can answer them.
#[derive(Clone, Debug, Default)]
pub struct Models {
    served: Vec<Served>,
    warnings: Vec<String>,
}

/// A model of a server.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) name: String,
    pub(crate) embedder: Option<Encoder>,
    pub(crate) reranker: Option<Reranker>,
    pub(crate) generator: Option<Generator>,
}

impl Models {
    /// Adds a model file or folder, under `name` or else under the name of its file.
    ///
    /// # Errors
    ///
    /// As [`ModelOptions::open`]; [`Kind::Usage`](nanoembed::Kind::Usage) if another model has the
    /// name, and for a model that neither embeds, ranks nor continues texts.
    pub fn add(&mut self, name: Option<&str>, path: &Path, options: &ModelOptions) -> Result<()> {
        let model = options.open(path)?;
        let name = name.map_or_else(|| name_of_file(path), str::to_owned);
        let (embedder, generator) = match &model {
            Model::Encoder(encoder) => (Some(encoder.clone()), None),
            Model::Generator(model) => {
                let purpose = model.purpose();
                let embeds = purpose != Purpose::Continue;
                let embedder = embeds.then(|| options.encoder().open(path)).transpose()?;
                (embedder, (purpose != Purpose::Embed).then(|| model.clone()))
            }
            _ => (None, None),
        };
        self.push(Served { name, embedder, reranker: model.reranker(), generator })?;
        self.warnings.extend(model.warnings());
        Ok(())
    }

    /// Adds the model that is part of the program.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add) and [`Encoder::built_in`].
    pub fn add_built_in(&mut self, options: &ModelOptions) -> Result<()> {
        let embedder = Some(options.encoder().built_in()?);
        self.push(Served { name: BUILT_IN.into(), embedder, reranker: None, generator: None })
    }

    fn push(&mut self, model: Served) -> Result<()> {
        let Served { name, embedder, reranker, generator } = model;
        let embedder = embedder.filter(|model| model.makes(VectorKind::Dense));
        let reranker = reranker.filter(|model| model.labels().len() == 1);
        if embedder.is_none() && reranker.is_none() && generator.is_none() {
            let message =
                "the model neither embeds, ranks nor continues texts, which is all that is served";
            return Err(Error::usage(message).at(name));
        }
        if self.served.iter().any(|model| model.name == name) {
            return Err(Error::usage(format!("two models are called `{name}`"))
                .with_hint("give one another name: NAME=PATH"));
        }
        self.served.push(Served { name, embedder, reranker, generator });
        Ok(())
    }

    /// The models, in their order.
    pub(crate) fn all(&self) -> &[Served] {
        &self.served
    }

    /// A model by its name, with or without Ollama's `:latest`.
    pub(crate) fn named(&self, name: &str) -> Option<&Served> {
        let find = |name: &str| self.served.iter().find(|model| model.name == name);
        find(name).or_else(|| find(name.strip_suffix(":latest")?))
    }

    /// True if there is a model that continues texts.
    pub(crate) fn continue_texts(&self) -> bool {
        self.served.iter().any(|model| model.generator.is_some())
    }

    /// True if there is a model that embeds or ranks texts: [`ModelOptions::max_tokens`] is for these.
    #[must_use]
    pub fn embed_or_rank(&self) -> bool {
        self.served.iter().any(|model| model.embedder.is_some() || model.reranker.is_some())
    }

    /// The first model that embeds texts.
    #[must_use]
    pub fn embedder(&self) -> Option<&Encoder> {
        self.served.iter().find_map(|model| model.embedder.as_ref())
    }

    /// A warning for each unknown setting of a model that was ignored.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// A line for each model: its name and what it does.
    #[must_use]
    pub fn descriptions(&self) -> Vec<String> {
        self.served.iter().map(Served::description).collect()
    }
}

impl Served {
    fn description(&self) -> String {
        let embeds = self.embedder.as_ref().map(|model| {
            format!("embeds up to {} tokens in {} numbers", model.max_tokens(), model.dimensions())
        });
        let ranks = self.reranker.as_ref();
        let ranks = ranks.map(|model| format!("ranks up to {} tokens", model.max_tokens()));
        let continues = self.generator.as_ref();
        let continues =
            continues.map(|model| format!("continues texts up to {} tokens", model.positions()));
        let does: Vec<String> = embeds.into_iter().chain(ranks).chain(continues).collect();
        format!("{} {}", self.name, does.join(", "))
    }
}

/// The name of a file without its extension, or of a folder.
fn name_of_file(path: &Path) -> String {
    let full = path.canonicalize();
    let path = full.as_deref().unwrap_or(path);
    let name = if path.is_dir() { path.file_name() } else { path.file_stem() };
    name.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_called_by_their_files() {
        let mut models = Models::default();
        let path = Path::new("../ffi/tests/data/small_bert.weights");
        models.add(None, path, &Model::options()).unwrap();
        assert!(models.named("small_bert").is_some());
        assert!(models.named("small_bert:latest").is_some());
        assert!(models.named("other").is_none());
        let again = models.add(None, path, &Model::options()).unwrap_err();
        assert_eq!(again.message(), "two models are called `small_bert`");
        models.add(Some("other"), path, &Model::options()).unwrap();
    }

    #[test]
    fn models_without_an_endpoint_are_refused() {
        let mut models = Models::default();
        let words = Path::new("../ffi/tests/data/words.fifu");
        let refused = models.add(None, words, &Model::options()).unwrap_err();
        assert!(refused.message().contains("neither embeds, ranks nor continues texts"));
    }
}
