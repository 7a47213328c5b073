//! The lexer: a state machine that reads every byte once, however the text is cut.

use super::string::{InString, StringState};
use crate::error::{Error, ErrorKind, Result};

/// The deepest supported nesting of arrays and objects, as in `serde_json`.
pub const MAX_DEPTH: u8 = 127;

/// The kind of a lexeme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LexemeKind {
    /// `{`
    BeginObject,
    /// `}`
    EndObject,
    /// `[`
    BeginArray,
    /// `]`
    EndArray,
    /// The name of an object's member.
    Key,
    /// A string.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool(bool),
    /// `null`
    Null,
}

/// A lexeme and its offsets in the text. Those of keys and strings exclude the quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lexeme {
    /// Its kind.
    pub kind: LexemeKind,
    /// Absolute offset of its first byte.
    pub start: u64,
    /// Absolute offset of its end, exclusive.
    pub end: u64,
}

/// The lexemes that may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    Nothing,
}

/// An incomplete lexeme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Partial {
    None,
    String { is_key: bool, state: StringState },
    Number(NumberState),
    Literal { text: &'static [u8], kind: LexemeKind },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberState {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    E,
    ESign,
    Exponent,
}

impl NumberState {
    /// The state after `byte`; `None` if the number ended before it.
    fn step(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Minus, b'0') => Some(Self::Zero),
            (Self::Minus, b'1'..=b'9') | (Self::Integer, b'0'..=b'9') => Some(Self::Integer),
            (Self::Zero | Self::Integer, b'.') => Some(Self::Point),
            (Self::Point | Self::Fraction, b'0'..=b'9') => Some(Self::Fraction),
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Some(Self::E),
            (Self::E, b'+' | b'-') => Some(Self::ESign),
            (Self::E | Self::ESign | Self::Exponent, b'0'..=b'9') => Some(Self::Exponent),
            _ => None,
        }
    }

    const fn may_end(self) -> bool {
        matches!(self, Self::Zero | Self::Integer | Self::Fraction | Self::Exponent)
    }
}

/// The effect of a byte.
enum Did {
    Nothing,
    End(LexemeKind),
    /// The lexeme had ended before the byte, which was not consumed.
    EndedBefore(LexemeKind),
}

/// Takes bytes of one JSON text as they arrive.
///
/// ```
/// use nanoembed_core::text::json::{LexemeKind, Lexer};
///
/// let mut lexer = Lexer::new(0);
/// let (used, lexeme) = lexer.next(br#"{"a"#)?;
/// assert_eq!((used, lexeme.unwrap().kind), (1, LexemeKind::BeginObject));
/// assert_eq!(lexer.next(br#""a"#)?, (2, None));
/// let key = lexer.next(br#"bc":"#)?.1.unwrap();
/// assert_eq!((key.kind, key.start, key.end), (LexemeKind::Key, 2, 5));
/// # Ok::<(), nanoembed_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lexer {
    offset: u64,
    start: u64,
    /// A bit for each open array or object, the innermost lowest: 1 for an object.
    objects: u128,
    depth: u8,
    expect: Expect,
    partial: Partial,
    failed: Option<Error>,
}

impl Lexer {
    /// A lexer at the start of a text, whose first byte is at the absolute `offset`.
    #[must_use]
    pub const fn new(offset: u64) -> Self {
        Self {
            offset,
            start: offset,
            objects: 0,
            depth: 0,
            expect: Expect::Value,
            partial: Partial::None,
            failed: None,
        }
    }

    /// A lexer inside an object, before a key at the absolute `offset`.
    #[must_use]
    pub const fn at_key(offset: u64) -> Self {
        let mut lexer = Self::new(offset);
        (lexer.objects, lexer.depth, lexer.expect) = (1, 1, Expect::KeyOrEnd);
        lexer
    }

    /// The absolute offset of the next byte.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of open arrays and objects.
    #[must_use]
    pub const fn depth(&self) -> u8 {
        self.depth
    }

    /// The absolute offset of the first byte still needed: the start of an incomplete lexeme, its
    /// quote included, or the next byte.
    #[must_use]
    pub const fn lexeme_offset(&self) -> u64 {
        match self.partial {
            Partial::None => self.offset,
            Partial::String { .. } => self.start.saturating_sub(1),
            _ => self.start,
        }
    }

    /// Returns true if a whole value has been seen.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        matches!(self.expect, Expect::Nothing)
    }

    /// Consumes bytes of `input` up to the end of the next lexeme; returns their number, and the
    /// lexeme if it ends here.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadJson`], [`ErrorKind::InvalidUtf8`] or [`ErrorKind::TooDeep`] at the
    /// offending byte, then always the same.
    pub fn next(&mut self, input: &[u8]) -> Result<(usize, Option<Lexeme>)> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        for (used, &byte) in input.iter().enumerate() {
            match self.step(byte) {
                Ok(Did::Nothing) => self.offset = self.offset.saturating_add(1),
                Ok(Did::End(kind)) => {
                    self.offset = self.offset.saturating_add(1);
                    return Ok((used.saturating_add(1), Some(self.lexeme(kind))));
                }
                Ok(Did::EndedBefore(kind)) => return Ok((used, Some(self.lexeme(kind)))),
                Err(kind) => return Err(self.fail(kind)),
            }
        }
        Ok((input.len(), None))
    }

    /// Declares the text's end; a number may end only now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadJson`] if the text is incomplete; an earlier error again.
    pub fn finish(&mut self) -> Result<Option<Lexeme>> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let number = match self.partial {
            Partial::Number(state) if state.may_end() && self.depth == 0 => {
                (self.partial, self.expect) = (Partial::None, Expect::Nothing);
                Some(self.lexeme(LexemeKind::Number))
            }
            _ => None,
        };
        if self.is_complete() { Ok(number) } else { Err(self.fail(ErrorKind::BadJson)) }
    }

    fn fail(&mut self, kind: ErrorKind) -> Error {
        let error = Error::new(self.offset, kind);
        self.failed = Some(error);
        error
    }

    /// The lexeme that ends before the next byte.
    fn lexeme(&self, kind: LexemeKind) -> Lexeme {
        let end = match kind {
            LexemeKind::Key | LexemeKind::String => self.offset.saturating_sub(1),
            _ => self.offset,
        };
        Lexeme { kind, start: self.start, end }
    }

    #[inline]
    fn step(&mut self, byte: u8) -> core::result::Result<Did, ErrorKind> {
        match self.partial {
            Partial::None => self.begin(byte),
            Partial::String { is_key, state } => match state.step(byte)? {
                InString::Goes(state) => {
                    self.partial = Partial::String { is_key, state };
                    Ok(Did::Nothing)
                }
                InString::Ends if is_key => {
                    (self.partial, self.expect) = (Partial::None, Expect::Colon);
                    Ok(Did::End(LexemeKind::Key))
                }
                InString::Ends => {
                    self.end_value();
                    Ok(Did::End(LexemeKind::String))
                }
            },
            Partial::Number(state) => match state.step(byte) {
                Some(state) => {
                    self.partial = Partial::Number(state);
                    Ok(Did::Nothing)
                }
                None if state.may_end() => {
                    self.end_value();
                    Ok(Did::EndedBefore(LexemeKind::Number))
                }
                None => Err(ErrorKind::BadJson),
            },
            Partial::Literal { text, kind } => match text {
                [last] if *last == byte => {
                    self.end_value();
                    Ok(Did::End(kind))
                }
                [next, text @ ..] if *next == byte => {
                    self.partial = Partial::Literal { text, kind };
                    Ok(Did::Nothing)
                }
                _ => Err(ErrorKind::BadJson),
            },
        }
    }

    /// Handles a byte between lexemes.
    fn begin(&mut self, byte: u8) -> core::result::Result<Did, ErrorKind> {
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            return Ok(Did::Nothing);
        }
        self.start = self.offset;
        match (self.expect, byte) {
            (Expect::Colon, b':') => {
                self.expect = Expect::Value;
                Ok(Did::Nothing)
            }
            (Expect::CommaOrEnd, b',') => {
                self.expect = if self.in_object() { Expect::Key } else { Expect::Value };
                Ok(Did::Nothing)
            }
            (Expect::KeyOrEnd | Expect::CommaOrEnd, b'}') if self.in_object() => {
                self.close();
                Ok(Did::End(LexemeKind::EndObject))
            }
            (Expect::ValueOrEnd | Expect::CommaOrEnd, b']') if !self.in_object() => {
                self.close();
                Ok(Did::End(LexemeKind::EndArray))
            }
            (Expect::Key | Expect::KeyOrEnd, b'"') => {
                self.begin_string(true);
                Ok(Did::Nothing)
            }
            (Expect::Value | Expect::ValueOrEnd, _) => self.begin_value(byte),
            _ => Err(ErrorKind::BadJson),
        }
    }

    fn begin_value(&mut self, byte: u8) -> core::result::Result<Did, ErrorKind> {
        self.partial = match byte {
            b'{' => return self.open(true, Expect::KeyOrEnd, LexemeKind::BeginObject),
            b'[' => return self.open(false, Expect::ValueOrEnd, LexemeKind::BeginArray),
            b'"' => {
                self.begin_string(false);
                return Ok(Did::Nothing);
            }
            b'-' => Partial::Number(NumberState::Minus),
            b'0' => Partial::Number(NumberState::Zero),
            b'1'..=b'9' => Partial::Number(NumberState::Integer),
            b't' => Partial::Literal { text: b"rue", kind: LexemeKind::Bool(true) },
            b'f' => Partial::Literal { text: b"alse", kind: LexemeKind::Bool(false) },
            b'n' => Partial::Literal { text: b"ull", kind: LexemeKind::Null },
            _ => return Err(ErrorKind::BadJson),
        };
        Ok(Did::Nothing)
    }

    fn begin_string(&mut self, is_key: bool) {
        self.start = self.offset.saturating_add(1);
        self.partial = Partial::String { is_key, state: StringState::Text };
    }

    fn open(
        &mut self,
        object: bool,
        expect: Expect,
        kind: LexemeKind,
    ) -> core::result::Result<Did, ErrorKind> {
        if self.depth == MAX_DEPTH {
            return Err(ErrorKind::TooDeep);
        }
        self.objects = self.objects << 1 | u128::from(object);
        self.depth = self.depth.saturating_add(1);
        self.expect = expect;
        Ok(Did::End(kind))
    }

    fn close(&mut self) {
        self.objects >>= 1;
        self.depth = self.depth.saturating_sub(1);
        self.end_value();
    }

    fn end_value(&mut self) {
        self.partial = Partial::None;
        self.expect = if self.depth == 0 { Expect::Nothing } else { Expect::CommaOrEnd };
    }

    const fn in_object(&self) -> bool {
        self.objects & 1 == 1
    }
}
