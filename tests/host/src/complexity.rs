//! Growing files and texts, and their readers, to measure how work grows.

mod files;
mod texts;

/// Reads an input; errors count as results, since they must also come in bounded time.
type Run = Box<dyn Fn(&[u8])>;

/// A reader, and inputs of any size for it.
pub struct Subject {
    /// Reader and pattern.
    pub name: String,
    /// An input of about this many bytes.
    pub make: Box<dyn Fn(usize) -> Vec<u8>>,
    /// Reads it.
    pub run: Run,
}

impl Subject {
    fn new(
        name: impl Into<String>,
        make: impl Fn(usize) -> Vec<u8> + 'static,
        run: impl Fn(&[u8]) + 'static,
    ) -> Self {
        Self { name: name.into(), make: Box::new(make), run: Box::new(run) }
    }
}

/// Every reader with patterns that might be hard for it.
#[must_use]
pub fn subjects() -> Vec<Subject> {
    let mut subjects = files::subjects();
    subjects.extend(texts::subjects());
    subjects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_the_size_that_was_asked_for_and_are_read() {
        let subjects = subjects();
        assert!(subjects.len() > 100, "{}", subjects.len());
        for Subject { name, make, run } in subjects {
            let input = make(4000);
            assert!((1000..8000).contains(&input.len()), "{name}: {}", input.len());
            assert!(make(8000).len() > input.len(), "{name}");
            run(&input);
        }
    }
}
