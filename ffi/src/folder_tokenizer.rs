//! Lent memory as the tokenizer of a family takes it apart, and its texts.

use core::mem::{MaybeUninit, size_of, size_of_val};

use nanoembed_core::describe::folder::FolderPrompts;
use nanoembed_core::source::folder_tokenizer::{
    FolderTokenizer, FolderTokenizerSource, TokenizingMemory, TokenizingNeeds,
};
use nanoembed_core::token::Encoded;
use nanoembed_core::token::bpe::MergeScratch;
use nanoembed_core::token::bpe::merge::{Candidate, Symbol};
use nanoembed_core::token::unigram::Step;

use crate::chosen::{self, Chosen};
use crate::leaf::{self, Part};
use crate::memory::{Lent, Sum};
use crate::model_tokenizer::Tokenizer;
use crate::status::Outcome;
use crate::tokenizer_index;

/// Makes a tokenizer where it stays.
#[inline(never)] // so that it has its stack to itself
pub(crate) fn open(
    tokenizer: &FolderTokenizerSource<'static>,
    lent: &mut Lent,
    place: &mut MaybeUninit<Tokenizer>,
) -> Outcome {
    let leaf = leaf::Families::built_in()?;
    let memory = tokenizer_index::memory(&tokenizer.needs(), lent)?;
    place.write(Tokenizer::Folder(Part::new(leaf, tokenizer.open(memory)?)));
    Ok(())
}

/// The bytes of a text's memory while it is tokenised.
pub(crate) fn tokenizing_bytes(needs: &TokenizingNeeds) -> Outcome<usize> {
    let mut sum = Sum::default();
    sum.add::<u8>(needs.text)?;
    sum.add::<Step>(needs.steps)?;
    sum.add::<Symbol>(needs.symbols)?;
    sum.add::<Candidate>(needs.heap)?;
    sum.add::<u8>(needs.after)?;
    Ok(sum.bytes())
}

/// The floats that this takes.
pub(crate) fn tokenizing_floats(needs: &TokenizingNeeds) -> Outcome<usize> {
    Ok(tokenizing_bytes(needs)?.div_ceil(size_of::<f32>()))
}

/// Memory for a text while it is tokenised, in the floats of a workspace.
pub(crate) fn tokenizing(
    needs: &TokenizingNeeds,
    floats: &mut [f32],
) -> Outcome<TokenizingMemory<'static>> {
    // SAFETY: it is the workspace's, aligned to what is lent, and nothing else is done with it
    // before the text has its ids. What is left in it are floats like any other bits.
    let mut lent = unsafe { Lent::new(floats.as_mut_ptr().cast(), size_of_val(floats))? };
    Ok(TokenizingMemory {
        text: lent.filled(needs.text, 0)?,
        steps: lent.filled(needs.steps, Step::default())?,
        symbols: lent.filled(needs.symbols, Symbol::default())?,
        heap: lent.filled(needs.heap, Candidate::default())?,
        after: lent.filled(needs.after, 0)?,
    })
}

/// Bytes of a window that suffices for the longest tokens that there may be.
const WINDOW: usize = 812;

/// Bytes of a word that can be merged, and of a text without spaces that can be composed.
const WORD: usize = 192;
const COMPOSED: usize = 1024;

/// Bytes of a prompt with a text after it.
const PROMPTED: usize = 1024;

/// The ids of a text after the model's usual prompt, in memory of the stack.
#[inline(never)] // so much of it only where it is needed
pub(crate) fn tokenize(
    tokenizer: &FolderTokenizer<'_>,
    prompts: &FolderPrompts<'_>,
    text: &str,
    ids: &mut [u32],
) -> Outcome<Encoded> {
    let mut room = [0; chosen::LEAST];
    let length = Chosen::USUAL.write(prompts, &mut room)?;
    let prompt = room.get(..length).unwrap_or_default();
    let prompt = core::str::from_utf8(prompt).unwrap_or_default();
    on_stack(|memory| Ok(tokenizer.encode_after(prompt, text, ids, memory)?))
}

/// Calls `tokenize` with memory of the stack.
#[inline(never)] // as above
pub(crate) fn on_stack<R>(tokenize: impl FnOnce(TokenizingMemory<'_>) -> Outcome<R>) -> Outcome<R> {
    const HEAP: usize = MergeScratch::heap_needed(WORD);
    let (mut window, mut after) = ([0; COMPOSED], [0; PROMPTED]);
    let (mut symbols, mut heap) = ([Symbol::default(); WORD], [Candidate::default(); HEAP]);
    let mut steps = [Step::default(); WINDOW + 1];
    let memory = TokenizingMemory {
        text: &mut window,
        steps: &mut steps,
        symbols: &mut symbols,
        heap: &mut heap,
        after: &mut after,
    };
    tokenize(memory)
}
