//! The routes of a model with a Router: models of their own for queries and documents, which are
//! opened when the first such text comes.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use nanoembed_core::ErrorKind;

use super::backend::Backend;
use super::{Encoder, EncoderOptions, Inner};
use crate::error::{Error, Result};
use crate::folder::prompts::Prompts;
use crate::open::loaded_model::LoadedModel;
use crate::open::source::Source;
use crate::role::Role;

/// The model that texts of some roles run through.
#[derive(Clone)]
pub(super) struct Network {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) source: Arc<Source>,
    pub(super) prompts: Arc<Prompts>,
}

/// The models for texts of each role.
pub(super) struct Routes {
    options: EncoderOptions,
    /// The one that was opened first.
    first: Network,
    by_role: [OnceLock<Network>; 3],
}

impl Routes {
    /// The routes of a model; `None` for one without a Router.
    pub(super) fn new(first: Network, options: &EncoderOptions) -> Option<Arc<Self>> {
        first.source.route()?;
        let (options, by_role) = (options.clone(), Default::default());
        Some(Arc::new(Self { options, first, by_role }))
    }

    /// The model for texts of a role.
    fn network(&self, role: Role) -> Result<Network> {
        let [text, query, document] = &self.by_role;
        let kept = match role {
            Role::Text => text,
            Role::Query => query,
            Role::Document => document,
        };
        if let Some(network) = kept.get() {
            return Ok(network.clone());
        }
        let network = match self.first.source.reopened_for(role)? {
            None => self.first.clone(),
            Some(source) => self.open(source)?,
        };
        // Another thread may have been faster, with the same.
        Ok(kept.get_or_init(|| network).clone())
    }

    fn open(&self, source: Source) -> Result<Network> {
        let source = Arc::new(source);
        let opened = LoadedModel::within(&source, &self.options.limits)?;
        let (backend, prompts) = (super::backend(&opened, &self.options)?, opened.prompts()?);
        let (size, usual) = (backend.dimensions(), self.first.backend.dimensions());
        if size != usual {
            let message = format!(
                "the model's routes have vectors of {size} and of {usual} numbers, which are not compared with each other"
            );
            return Err(Error::input(ErrorKind::UnsupportedSetting, message).at(source.name()));
        }
        drop(opened);
        Ok(Network { backend: backend.into(), source, prompts: Arc::new(prompts) })
    }
}

impl Encoder {
    /// The model that texts of a role run through, unless its prompt says what all of them are.
    pub(super) fn for_texts(&self, role: Role) -> Result<Cow<'_, Self>> {
        match (role, Role::from_prompt(&self.0.prompt)) {
            (role @ (Role::Query | Role::Document), Role::Text) => self.in_role(role),
            _ => Ok(Cow::Borrowed(self)),
        }
    }

    /// The model for queries and for documents, if there is a Router with such routes.
    pub(crate) fn in_each_role(&self) -> impl Iterator<Item = Result<Cow<'_, Self>>> {
        let roles = [Role::Query, Role::Document].into_iter();
        let roles =
            roles.filter(|role| self.0.source.route_for(*role).is_ok_and(|it| it.is_some()));
        roles.map(|role| self.in_role(role))
    }

    /// The same model for texts of a role; in a model with a Router they take a route of their own.
    pub(super) fn in_role(&self, role: Role) -> Result<Cow<'_, Self>> {
        let Some(routes) = self.0.routes.as_ref().filter(|_| role != self.0.role) else {
            return Ok(Cow::Borrowed(self));
        };
        let Network { backend, source, prompts } = routes.network(role)?;
        let inner = Inner { backend, source, prompts, role, ..Inner::clone(&self.0) };
        Ok(Cow::Owned(Self::from_inner(inner)))
    }
}
