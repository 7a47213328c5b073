//! Segments whose bytes are damaged, or made to harm.

use std::collections::HashMap;

use nanoembed::digest::digest;

use super::layout::{HEADER, Sizes, header};
use super::{Content, FileDraft, Identity, Segment, Vector, write};
use crate::passage::{Part, Passage};

const IDENTITY: Identity = Identity { fingerprint: 1, root: 2, dimensions: 4 };

fn passages() -> Vec<(Passage, String)> {
    let part =
        |range, heading: &str, line| Part { range, heading: heading.into(), line, end_line: 9 };
    let long = Passage {
        text: "One cat. Two cats and a dog.".into(),
        heading: "A".into(),
        parts: vec![part(0..8, "A", 1), part(9..28, "A › B", 2)],
    };
    vec![(long, "{}".into()), (Passage::whole("", "a bird".into(), 3, 3), String::new())]
}

fn vectors(passages: &[(Passage, String)]) -> HashMap<u128, Vector> {
    let texts = passages
        .iter()
        .flat_map(|(passage, _)| passage.parts.iter().map(|part| passage.read_of(part)));
    let vector = |at: u8| Vector { codes: vec![at, 2, 3, 4], scale: f32::from(at), length: 1.5 };
    texts.zip(1..).map(|(text, at)| (digest(text.as_bytes()), vector(at))).collect()
}

fn draft(path: &str, content: Content<'static>) -> FileDraft<'static> {
    FileDraft { path: path.into(), size: 5, changed: 6, content }
}

fn bytes() -> Vec<u8> {
    let passages: &'static _ = Box::leak(Box::new(passages()));
    let drafts = [draft("a/b", Content::New(passages)), draft("c", Content::New(&[]))];
    write(&IDENTITY, &drafts, None, &vectors(passages)).unwrap()
}

fn parsed(bytes: Vec<u8>) -> Option<Segment> {
    Segment::parse(bytes.into(), &IDENTITY)
}

/// Everything that a search asks of a segment.
fn read_all(segment: &Segment) -> usize {
    let mut length = 0;
    for file in 0..segment.files() {
        let record = segment.file(file);
        length += record.path.len();
        for at in record.passages {
            let passage = segment.passage(at);
            length += passage.heading.len() + passage.extra.len();
            for part in passage.parts.clone() {
                length += passage.read_of(&segment.part(part)).len();
                length += segment.row(part).codes.len();
            }
        }
    }
    length + segment.postings("cat").chain(segment.postings("bird")).count()
}

#[test]
fn what_was_written_is_read() {
    let segment = parsed(bytes()).unwrap();
    assert_eq!((segment.files(), segment.passages(), segment.parts()), (2, 2, 3));
    let file = segment.file(0);
    assert_eq!((file.path, file.passages, file.size, file.changed), (&b"a/b"[..], 0..2, 5, 6));
    assert_eq!(segment.file(1).passages, 2..2);
    let passage = segment.passage(0);
    assert_eq!((passage.heading, passage.extra, passage.parts.clone()), ("A", "{}", 0..2));
    assert_eq!(passage.read_of(&segment.part(1)), "A › B\nTwo cats and a dog.");
    assert_eq!((segment.part(1).line, segment.part(1).end_line), (2, 9));
    assert_eq!(segment.row(1).codes, [2, 2, 3, 4]);
    assert_eq!((segment.row(2).scale, segment.row(2).length), (3.0, 1.5));
    assert_eq!(segment.postings("cat").collect::<Vec<_>>(), [(0, 2)]);
    assert_eq!(segment.postings("bird").collect::<Vec<_>>(), [(1, 1)]);
    assert_eq!(segment.postings("fish").count(), 0);
}

#[test]
fn kept_files_are_those_of_the_older_segment() {
    let old = parsed(bytes()).unwrap();
    let new: &'static [(Passage, String)] =
        Box::leak(Box::new(vec![(Passage::whole("", "another cat".into(), 1, 1), String::new())]));
    let drafts = [draft("0", Content::New(new)), draft("a/b", Content::Kept(0))];
    let bytes = write(&IDENTITY, &drafts, Some(&old), &HashMap::new()).unwrap();
    let segment = parsed(bytes).unwrap();
    assert_eq!((segment.files(), segment.passages()), (2, 3));
    let (was, is) = (old.passage(0), segment.passage(1));
    assert_eq!((was.text, was.terms, was.key), (is.text, is.terms, is.key));
    assert_eq!(segment.row(2), old.row(1));
    assert!(segment.row(0).scale.is_nan());
    assert_eq!(segment.postings("cat").collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert_eq!(segment.postings("bird").collect::<Vec<_>>(), [(2, 1)]);
    // A term that no passage has any more is gone.
    let bytes = write(&IDENTITY, &drafts[..1], Some(&old), &HashMap::new()).unwrap();
    assert_eq!(parsed(bytes).unwrap().terms(), 2);
}

#[test]
fn no_changed_or_cut_segment_is_trusted() {
    let bytes = bytes();
    for at in 0..bytes.len() {
        for change in [1, 0x80, 0xff] {
            let mut other = bytes.clone();
            other[at] ^= change;
            assert!(parsed(other).is_none(), "byte {at}");
        }
        assert!(parsed(bytes[..at].to_vec()).is_none(), "{at} bytes");
    }
    assert!(parsed([&bytes[..], &[0]].concat()).is_none());
    for other in [
        Identity { fingerprint: 9, ..IDENTITY },
        Identity { root: 9, ..IDENTITY },
        Identity { dimensions: 5, ..IDENTITY },
    ] {
        assert!(Segment::parse(bytes.clone().into(), &other).is_none());
    }
}

#[test]
fn forged_records_do_no_harm() {
    let bytes = bytes();
    let count = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let length = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let sizes = Sizes {
        files: count(44),
        passages: count(48),
        parts: count(52),
        terms: count(56),
        paths: length(64),
        names: length(72),
        postings: length(80),
        texts: length(88),
    };
    for at in HEADER..bytes.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut body = bytes[HEADER..].to_vec();
            body[at - HEADER] = value;
            let forged = [header(&IDENTITY, &sizes, &body), body].concat();
            let segment = parsed(forged).unwrap();
            assert!(read_all(&segment) < 10_000);
            let kept = [draft("a/b", Content::Kept(0))];
            let rewritten = write(&IDENTITY, &kept, Some(&segment), &HashMap::new());
            assert!(rewritten.is_none_or(|bytes| parsed(bytes).is_some()));
        }
    }
    for sizes in [
        Sizes { files: u32::MAX, ..sizes },
        Sizes { parts: u32::MAX, ..sizes },
        Sizes { texts: u64::MAX, ..sizes },
        Sizes { texts: sizes.texts + 1, postings: sizes.postings - 1, ..sizes },
    ] {
        let body = &bytes[HEADER..];
        let forged = [header(&IDENTITY, &sizes, body), body.to_vec()].concat();
        if let Some(segment) = parsed(forged) {
            assert!(read_all(&segment) < 10_000);
        }
    }
}
