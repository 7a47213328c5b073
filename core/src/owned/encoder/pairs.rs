//! Pairs of texts to tokens.

use alloc::vec::Vec;

use crate::error::Result;
use crate::limit::filled;
use crate::owned::folder::{Filled, FolderModel, PairTemplate};
use crate::owned::{TextKinds, TextSession, TokenizedPair, Tokenizer};

/// What a model makes of two texts before it reads them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    /// The template of the text that both become, if they become one.
    template: Option<PairTemplate>,
    /// The token that is cut off at the end.
    padding: Option<u32>,
    /// True if the model computes once what several prompts begin with.
    shares: bool,
}

/// A question and a text.
pub(super) type Pair<'t> = (&'t str, &'t str);

/// Two questions and texts without a common last token, as sentence-transformers has them.
const FILLERS: [&str; 2] = ["0", "1 2 3 4"];
/// Two texts without a common first token.
const UNLIKE: [&str; 2] = ["0", "a"];

impl Pairs {
    /// The pairs of a model, which computes once what prompts begin with if it `shares` that.
    pub(super) fn new(described: &FolderModel, shares: bool) -> Result<Self> {
        let template = described.template.as_ref().map(PairTemplate::copy).transpose()?;
        Ok(Self { template, padding: described.padding(), shares })
    }

    /// Returns true if there is a place for an instruction.
    pub(super) fn take_instruction(&self) -> bool {
        self.template.as_ref().is_some_and(PairTemplate::takes_instruction)
    }

    /// The first `limit` tokens of two texts, with an instruction if there is a place for one.
    pub(super) fn encode(
        &self,
        tokenizer: &Tokenizer<'static, TextKinds>,
        (query, document): Pair<'_>,
        instruction: &str,
        limit: usize,
        session: &mut TextSession,
    ) -> Result<TokenizedPair> {
        let mut pair = match &self.template {
            Some(template) => {
                let texts = Filled { instruction, query, document };
                Prompt { template, tokenizer }.encode(&texts, limit, session)?
            }
            None => tokenizer.encode_pair(query, document, limit, session)?,
        };
        // The model is causal: what comes after a token does not change its vector.
        while pair.ids.len() > 1 && pair.ids.last().copied() == self.padding {
            pair.ids.pop();
        }
        pair.types.truncate(pair.ids.len());
        if let Some(template) = self.template.as_ref().filter(|_| self.shares) {
            let texts = Filled { instruction, query, document };
            pair.shared = Prompt { template, tokenizer }.start(&texts, &pair.ids, session)?;
        }
        Ok(pair)
    }
}

/// A template, and the tokenizer of what it makes.
struct Prompt<'m> {
    template: &'m PairTemplate,
    tokenizer: &'m Tokenizer<'static, TextKinds>,
}

impl Prompt<'_> {
    /// The first `limit` tokens of a prompt, of which the last are the template's end if there are
    /// as many.
    fn encode(
        &self,
        texts: &Filled<'_>,
        limit: usize,
        session: &mut TextSession,
    ) -> Result<TokenizedPair> {
        let mut ids = self.ids(texts, session)?;
        let truncated = ids.len() > limit;
        ids.truncate(limit);
        if ids.len() == limit {
            let end = self.end(texts, session)?;
            let kept = end.len().min(limit);
            let (places, end) = (ids.iter_mut().rev().take(kept), end.iter().rev());
            places.zip(end).for_each(|(place, id)| *place = *id);
        }
        Ok(TokenizedPair { types: filled(ids.len(), 0)?, ids, truncated, shared: 0 })
    }

    /// The number of ids, of those of a prompt, that all prompts with this instruction and this
    /// question begin with. There are others after them.
    fn start(
        &self,
        texts: &Filled<'_>,
        prompt: &[u32],
        session: &mut TextSession,
    ) -> Result<usize> {
        let mut common = prompt.len().saturating_sub(1);
        for document in UNLIKE {
            let ids = self.ids(&Filled { document, ..*texts }, session)?;
            let pairs = prompt.iter().zip(&ids).take(common);
            common = pairs.take_while(|(a, b)| a == b).count();
        }
        Ok(common)
    }

    /// The ids that all prompts with this instruction end with.
    fn end(&self, texts: &Filled<'_>, session: &mut TextSession) -> Result<Vec<u32>> {
        let mut filled =
            |filler| self.ids(&Filled { query: filler, document: filler, ..*texts }, session);
        let [first, second] = FILLERS;
        let (mut first, second) = (filled(first)?, filled(second)?);
        let pairs = first.iter().rev().zip(second.iter().rev());
        let common = pairs.take_while(|(a, b)| a == b).count();
        Ok(first.split_off(first.len().saturating_sub(common)))
    }

    fn ids(&self, texts: &Filled<'_>, session: &mut TextSession) -> Result<Vec<u32>> {
        self.tokenizer.encode_alone(&self.template.render(texts)?, session)
    }
}
