//! The passages of segments that are searched: of equal ones, only the first.

use std::collections::HashSet;
use std::sync::Arc;

use nanoembed_ranking::{Letters, Passages};

use crate::segment::Segment;

/// A segment with the names of those of its files that are searched.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) segment: Segment,
    /// In the order of the segment's files; `None` for those that are not searched.
    pub(crate) names: Vec<Option<Arc<str>>>,
}

/// All segments as one list of passages.
#[derive(Debug, Default)]
pub(crate) struct Live {
    pub(crate) segments: Vec<Named>,
    /// The number of the first passage of each segment.
    starts: Vec<usize>,
    /// The file of each passage that is searched.
    files: Vec<Option<u32>>,
    count: usize,
    terms: u64,
    letters: Letters,
}

/// A passage's place in its segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'l> {
    pub(crate) segment: &'l Segment,
    pub(crate) passage: u32,
    pub(crate) name: &'l Arc<str>,
}

impl Live {
    pub(crate) fn new(segments: Vec<Named>) -> Self {
        let mut live = Self { segments, ..Self::default() };
        let mut seen = HashSet::new();
        for Named { segment, names } in &live.segments {
            live.starts.push(live.files.len());
            let end = live.files.len() + segment.passages() as usize;
            for (file, name) in (0..segment.files()).zip(names) {
                if name.is_none() {
                    continue;
                }
                for passage in segment.file(file).passages {
                    let (key, terms, latin, letters) = segment.numbers(passage);
                    if !seen.insert(key) {
                        continue;
                    }
                    let at = live.starts.last().map_or(0, |start| start + passage as usize);
                    live.files.resize(live.files.len().max(at + 1), None);
                    if let Some(own) = live.files.get_mut(at) {
                        *own = Some(file);
                    }
                    live.count += 1;
                    live.terms += u64::from(terms);
                    live.letters.add(Letters::from_counts(latin, letters));
                }
            }
            live.files.resize(end, None);
        }
        live
    }

    /// The place of a passage that is searched.
    pub(crate) fn place(&self, passage: usize) -> Option<Place<'_>> {
        let file = (*self.files.get(passage)?)? as usize;
        let at = self.starts.partition_point(|start| *start <= passage).checked_sub(1)?;
        let Named { segment, names } = self.segments.get(at)?;
        let passage = u32::try_from(passage - self.starts.get(at)?).ok()?;
        Some(Place { segment, passage, name: names.get(file)?.as_ref()? })
    }
}

impl Passages for Live {
    fn end(&self) -> usize {
        self.files.len()
    }

    fn searched(&self) -> usize {
        self.count
    }

    fn is_searched(&self, passage: usize) -> bool {
        self.files.get(passage).is_some_and(Option::is_some)
    }

    fn terms(&self, passage: usize) -> Option<u32> {
        let place = self.place(passage)?;
        let (_, terms, ..) = place.segment.numbers(place.passage);
        Some(terms)
    }

    fn all_terms(&self) -> u64 {
        self.terms
    }

    fn postings(&self, term: &str) -> impl Iterator<Item = (usize, u32)> {
        let segments = self.starts.iter().zip(&self.segments);
        segments.flat_map(move |(start, Named { segment, .. })| {
            let postings = segment.postings(term);
            postings.map(move |(passage, count)| (start + passage as usize, count))
        })
    }

    fn are_latin(&self) -> bool {
        self.letters.are_latin()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashMap;

    use nanoembed_ranking::{WordIndex, Words};

    use super::*;
    use crate::passage::Passage;
    use crate::segment::{Content, FileDraft, Identity, write};

    /// A file of passages, without vectors.
    pub(crate) fn live_from(texts: &[&str]) -> Live {
        let passages: Vec<(Passage, String)> = texts
            .iter()
            .map(|text| (Passage::whole("", (*text).to_owned(), 1, 1), String::new()))
            .collect();
        let content = Content::New(&passages);
        let draft = FileDraft { path: b"a".to_vec(), size: 0, changed: 0, content };
        let identity = Identity::default();
        let bytes = write(&identity, &[draft], None, &HashMap::new()).unwrap();
        let segment = Segment::parse(bytes.into(), &identity).unwrap();
        Live::new(vec![Named { segment, names: vec![Some("a".into())] }])
    }

    #[test]
    fn equal_passages_are_there_once() {
        let live = live_from(&["x", "y", "x"]);
        assert_eq!((live.searched(), live.end(), live.terms(2)), (2, 3, None));
        assert_eq!(live.place(1).unwrap().segment.passage(1).text, "y");
        assert!(live.place(2).is_none() && live.place(3).is_none());
    }

    #[test]
    fn words_count_as_in_an_index_in_memory() {
        let texts = ["parse_header reads a header", "Größe der Datei", "日本語のtext", "a header"];
        let (live, mut index) = (live_from(&texts), WordIndex::default());
        texts.iter().for_each(|text| index.add(text));
        assert_eq!((live.all_terms(), live.are_latin()), (index.all_terms(), index.are_latin()));
        for query in ["headers", "parse_header", "die Datei", "日本", "the"] {
            let found = Words::new(query, &live).scores(&live);
            assert_eq!(found, Words::new(query, &index).scores(&index), "{query}");
        }
    }
}
