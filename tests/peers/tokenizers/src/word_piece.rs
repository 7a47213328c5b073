//! BERT's vocabulary: the core's WordPiece over a hash table and over sorted tokens.

use nanoembed_core::token::{Normalization, SpecialIds, Vocabulary, WordPiece};
use nanoembed_tests::vocabularies::{HashMemory, StoredVocabulary};
use tokenizers::models::wordpiece::WordPiece as TheirWordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{AddedToken, Tokenizer, TokenizerBuilder};

use crate::Failure;
use crate::turns::{BUFFER, in_turns};

const VOCABULARY: &str = include_str!("../../../data/embd/all-MiniLM-L6-v2.vocab");

/// Compares all ids, then measures.
pub fn compare(texts: &[String]) -> Result<(), Failure> {
    let theirs = build_theirs()?;
    let stored = StoredVocabulary::from_lines(VOCABULARY);
    let mut memory = HashMemory::for_tokens(stored.count);
    let hash = build_ours(memory.index(&stored)?)?;
    let sorted = build_ours(stored.sorted()?)?;

    let mut ids = vec![0; BUFFER];
    let mut tokens = 0;
    for text in texts {
        let encoded = hash.encode(text, &mut ids)?;
        let expected = theirs.encode(text.as_str(), true)?;
        assert_eq!(&ids[..encoded.tokens], expected.get_ids(), "{text}");
        tokens += encoded.tokens;
    }
    println!("{tokens} tokens, all ids equal\n");

    in_turns(
        texts,
        tokens,
        &mut [
            ("nanoembed, hash", &mut |text, ids| encode(&hash, text, ids)),
            ("nanoembed, sorted", &mut |text, ids| encode(&sorted, text, ids)),
            // Without offsets, which the core does not compute either.
            ("tokenizers", &mut |text, _| theirs.encode_fast(text, true).map_or(0, |it| it.len())),
        ],
    );
    Ok(())
}

fn build_ours<V: Vocabulary>(vocabulary: V) -> Result<WordPiece<V>, nanoembed_core::Error> {
    let special = SpecialIds::find(&vocabulary)?;
    WordPiece::new(vocabulary, special, Normalization::UNCASED)
}

fn build_theirs() -> Result<Tokenizer, Failure> {
    let vocabulary = VOCABULARY.lines().map(String::from).zip(0..).collect::<Vec<_>>();
    let model = TheirWordPiece::builder()
        .vocab(vocabulary.into_iter().collect::<ahash::AHashMap<String, u32>>())
        .build()?;
    let mut tokenizer: Tokenizer = TokenizerBuilder::default()
        .with_model(model)
        .with_normalizer(Some(BertNormalizer::default()))
        .with_pre_tokenizer(Some(BertPreTokenizer))
        .with_post_processor(Some(BertProcessing::new(
            ("[SEP]".into(), 102),
            ("[CLS]".into(), 101),
        )))
        .with_decoder(None::<tokenizers::DecoderWrapper>)
        .build()?
        .into();
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
    tokenizer.add_special_tokens(special.map(|token| AddedToken::from(token, true)))?;
    Ok(tokenizer)
}

fn encode<V: Vocabulary>(tokenizer: &WordPiece<V>, text: &str, ids: &mut [u32]) -> usize {
    tokenizer.encode(text, ids).map_or(0, |encoded| encoded.tokens)
}
