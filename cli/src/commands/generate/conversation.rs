//! A conversation in a terminal: questions line by line, and their answers.

use std::io::{BufRead, Write};

use nanoembed::{Generator, Message, Prompt, Result, Sampling};

use super::write_pieces;
use crate::error::Error;

/// What stands before a question.
const QUESTION: &str = "> ";

/// A conversation with a model.
pub(super) struct Conversation<'g> {
    pub(super) generator: &'g Generator,
    pub(super) sampling: Sampling,
    /// Most tokens of an answer; `None` as many as the model has room for.
    pub(super) max_tokens: Option<usize>,
    pub(super) stops: &'g [String],
    /// Roles and texts of the messages so far.
    pub(super) messages: Vec<(&'static str, String)>,
}

/// Tells whether the user has ended an answer, and forgets it.
pub(super) trait Interruption {
    /// Called before an answer.
    fn await_next(&self);

    /// Returns true if the user has ended the answer.
    fn has_come(&self) -> bool;

    /// Called after an answer.
    fn stop_waiting(&self);
}

impl Conversation<'_> {
    /// Reads questions from `input` until its end, and writes their answers to `output`. Lines
    /// without a text are no questions.
    ///
    /// # Errors
    ///
    /// Fails if the model refuses the messages, and if reading or writing fails.
    pub(super) fn hold(
        &mut self,
        input: &mut dyn BufRead,
        output: &mut dyn Write,
        interruption: &dyn Interruption,
    ) -> Result<()> {
        let written = |error| Error::writing("stdout", &error);
        loop {
            output.write_all(QUESTION.as_bytes()).and_then(|()| output.flush()).map_err(written)?;
            let mut line = String::new();
            let read =
                input.read_line(&mut line).map_err(|error| Error::reading("stdin", &error))?;
            if read == 0 {
                return output.write_all(b"\n").map_err(written);
            }
            let question = line.trim();
            if question.is_empty() {
                continue;
            }
            self.messages.push(("user", question.to_owned()));
            interruption.await_next();
            let answer = self.answer(output, interruption);
            interruption.stop_waiting();
            self.messages.push(("assistant", answer?));
        }
    }

    /// The answer to the last question, which is written piece by piece.
    fn answer(&self, output: &mut dyn Write, interruption: &dyn Interruption) -> Result<String> {
        let messages: Vec<Message<'_>> =
            self.messages.iter().map(|(role, text)| Message::new(role, text)).collect();
        let ids = self.generator.encode(Prompt::Chat(&messages))?;
        let room = self.generator.positions().saturating_sub(ids.len());
        if room == 0 {
            return Err(Error::usage(format!(
                "the conversation has {} tokens, and the model takes {}",
                ids.len(),
                self.generator.positions()
            ))
            .with_hint("begin anew"));
        }
        let most = self.max_tokens.unwrap_or(Sampling::ANSWER_TOKENS).min(room);
        let sampling = self.sampling.max_tokens(most);
        let mut pieces = self.generator.generate(Prompt::Ids(&ids), sampling)?.until(self.stops);
        write_pieces(&mut pieces, output, || interruption.has_come())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use nanoembed::escape;

    use super::*;

    /// An interruption after so many pieces of each answer.
    struct After(usize, Cell<usize>);

    impl Interruption for After {
        fn await_next(&self) {
            self.1.set(0);
        }

        fn has_come(&self) -> bool {
            self.1.set(self.1.get() + 1);
            self.1.get() >= self.0
        }

        fn stop_waiting(&self) {}
    }

    fn generator() -> Generator {
        Generator::open("../tests/data/llama/tiny.gguf").unwrap()
    }

    /// What is written for these lines, and the messages after them.
    fn held(
        lines: &str,
        most: Option<usize>,
        pieces: usize,
    ) -> (String, Vec<(&'static str, String)>) {
        let generator = generator();
        let messages = vec![("system", "Be brief.".to_owned())];
        let sampling = Sampling::greedy();
        let mut conversation = Conversation {
            generator: &generator,
            sampling,
            max_tokens: most,
            stops: &[],
            messages,
        };
        let mut output = Vec::new();
        let interruption = After(pieces, Cell::new(0));
        conversation.hold(&mut lines.as_bytes(), &mut output, &interruption).unwrap();
        (String::from_utf8(output).unwrap(), conversation.messages)
    }

    #[test]
    fn an_answer_follows_from_all_messages_before_it() {
        let (said, messages) = held("the weather\n\n  \nand today\n", Some(6), usize::MAX);
        let roles: Vec<&str> = messages.iter().map(|(role, _)| *role).collect();
        assert_eq!(roles, ["system", "user", "assistant", "user", "assistant"]);
        let generator = generator();
        for end in [2, 4] {
            let before: Vec<Message<'_>> =
                messages[..end].iter().map(|(role, text)| Message::new(role, text)).collect();
            let sampling = Sampling::greedy().max_tokens(6);
            let expected = generator.generate(Prompt::Chat(&before), sampling).unwrap();
            let expected: String = expected.map(Result::unwrap).collect();
            assert_eq!(messages[end].1, expected);
        }
        let answers = [&messages[2].1, &messages[4].1].map(|text| escape::lines(text).into_owned());
        assert_eq!(said, format!("> {}\n> > > {}\n> \n", answers[0], answers[1]));
    }

    #[test]
    fn an_interruption_ends_the_answer_and_not_the_conversation() {
        let (_, messages) = held("the weather\nand today\n", Some(20), 2);
        let (_, whole) = held("the weather\n", Some(20), usize::MAX);
        assert_eq!(messages.len(), 5);
        assert!(whole[2].1.starts_with(&messages[2].1) && messages[2].1.len() < whole[2].1.len());
    }
}
