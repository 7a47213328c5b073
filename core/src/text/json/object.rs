//! The rule for settings in JSON objects: each is *used*, *known to be irrelevant*, or *rejected by
//! name*.

use core::cell::Cell;
use core::fmt;

use super::lexer::LexemeKind;
use super::spelling::is;
use super::value::Value;
use crate::error::{Error, ErrorKind};
use crate::text::decimal::decimal;

/// An error about a setting, with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault<'t> {
    /// The error, at the setting's value, or at the object that it is missing from.
    pub error: Error,
    /// The setting's name as the file spells it.
    pub key: &'t str,
    /// The accepted values, such as `only "gelu" is honoured`; may be empty.
    pub only: &'static str,
}

impl Fault<'_> {
    /// A fault that is not about a particular setting.
    #[must_use]
    pub const fn from_error(error: Error) -> Self {
        Self { error, key: "", only: "" }
    }
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { error, key, only } = self;
        write!(f, "`{key}`: {error}")?;
        if only.is_empty() { Ok(()) } else { write!(f, "; {only}") }
    }
}

/// The reason for rejecting an unknown setting.
pub const UNKNOWN: &str = "it is not known, so what it changes would be lost";

/// A result whose error names the setting.
pub type Read<'t, T> = Result<T, Fault<'t>>;

/// Objects with more members are rejected: no model's settings have as many.
const MOST_MEMBERS: usize = 256;

/// Members whose offsets are kept. Objects with large members, such as vocabularies, have fewer;
/// those with more are short enough to be searched again for each member. Builds with `small` save
/// stack.
const KEPT_MEMBERS: usize = if cfg!(feature = "small") { 4 } else { 16 };

/// A member's name as it is spelled, and its value.
type Member<'t> = (&'t str, Value<'t>);

/// An object that records which of its members were read. Members that are null count as absent.
///
/// ```
/// use nanoembed_core::text::json::{Fault, Object, Value};
///
/// let config = Value::parse(r#"{"hidden_size": 384, "hidden_act": "odd", "id": 7}"#, 0);
/// let config = Object::new(config.map_err(Fault::from_error)?)?;
/// assert_eq!(config.number("hidden_size")?, Some(384.0));
/// assert_eq!(config.finish(&["id"]).unwrap_err().key, "hidden_act");
/// # Ok::<(), nanoembed_core::text::json::Fault<'static>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Object<'t> {
    value: Value<'t>,
    /// All members, if they are few enough.
    kept: Option<[Option<Member<'t>>; KEPT_MEMBERS]>,
    asked: Cell<[u128; MOST_MEMBERS / 128]>,
}

impl<'t> Object<'t> {
    /// The members of `value`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadMetadata`] if it is not an object; [`ErrorKind::OverLimit`] if it has too
    /// many members.
    pub fn new(value: Value<'t>) -> Read<'t, Self> {
        let fault =
            |kind| Err(Fault { error: Error::new(value.offset(), kind), key: "", only: "" });
        if value.kind() != LexemeKind::BeginObject {
            return fault(ErrorKind::BadMetadata);
        }
        let mut kept = [None; KEPT_MEMBERS];
        let mut count = 0_usize;
        for member in value.members() {
            if let Some(place) = kept.get_mut(count) {
                *place = Some(member);
            }
            count = count.saturating_add(1);
        }
        if count > MOST_MEMBERS {
            return fault(ErrorKind::OverLimit);
        }
        let kept = (count <= KEPT_MEMBERS).then_some(kept);
        Ok(Self { value, kept, asked: Cell::default() })
    }

    fn members(&self) -> impl Iterator<Item = Member<'t>> {
        let all = self.kept.is_none().then(|| self.value.members());
        // Borrowed: a copy would be 400 bytes of stack.
        self.kept.iter().flatten().flatten().copied().chain(all.into_iter().flatten())
    }

    /// The object as a value.
    #[must_use]
    pub const fn value(&self) -> Value<'t> {
        self.value
    }

    /// The value of a member, which counts as used from now on.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value<'t>> {
        let mut found = None;
        let mut asked = self.asked.get();
        for (at, (known, value)) in self.members().enumerate() {
            if is(known, name) {
                found = Some(value);
                if let Some(bits) = asked.get_mut(at / 128) {
                    *bits |= 1 << (at % 128);
                }
            }
        }
        self.asked.set(asked);
        found.filter(|value| !value.is_null())
    }

    /// The string value of a member without its quotes, as the file spells it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadMetadata`] if it is something else.
    pub fn text(&self, name: &'static str) -> Read<'t, Option<&'t str>> {
        self.typed(name, "a text is needed", |value| value.as_text())
    }

    /// The boolean value of a member.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadMetadata`] if it is something else.
    pub fn truth(&self, name: &'static str) -> Read<'t, Option<bool>> {
        self.typed(name, "true or false is needed", |value| value.as_bool())
    }

    /// The number value of a member.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadMetadata`] if it is something else.
    pub fn number(&self, name: &'static str) -> Read<'t, Option<f64>> {
        self.typed(name, "a number is needed", |value| value.as_f64())
    }

    /// The value of a member that is a non-negative integer. `1e3` and `4.0` are integers too,
    /// since some programs write them so.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadMetadata`] if it is something else.
    pub fn integer(&self, name: &'static str) -> Read<'t, Option<u64>> {
        self.typed(name, "an integer that is not negative is needed", |value| {
            // Builds for models without fractional settings leave out the float parser.
            let has_fractions = cfg!(any(feature = "alloc", feature = "families"));
            let is_number = has_fractions && value.kind() == LexemeKind::Number;
            let rounded = || if is_number { decimal(value.spelling()) } else { None };
            value.as_u64().or_else(|| integer(rounded()?))
        })
    }

    /// A member that is an object, with its own record of used members: call its
    /// [`finish`](Self::finish), too.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadMetadata`] if it is something else.
    pub fn object(&self, name: &'static str) -> Read<'t, Option<Self>> {
        let value = self.typed(name, "an object is needed", |value| {
            (value.kind() == LexemeKind::BeginObject).then_some(value)
        })?;
        value.map(Self::new).transpose()
    }

    /// The items of a member that is an array; none if it is absent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadMetadata`] if it is something else.
    pub fn items(&self, name: &'static str) -> Read<'t, impl Iterator<Item = Value<'t>> + use<'t>> {
        let list = self.typed(name, "a list is needed", |value| {
            (value.kind() == LexemeKind::BeginArray).then_some(value)
        })?;
        Ok(list.into_iter().flat_map(|list| list.items()))
    }

    /// Returns a required value.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingMetadata`] if it is absent.
    pub fn needed<T>(&self, name: &'static str, value: Option<T>) -> Read<'t, T> {
        let error = Error::new(self.value.offset(), ErrorKind::MissingMetadata);
        value.ok_or(Fault { error, key: name, only: "" })
    }

    /// The fault of a member with an unsupported value; `only` names the supported ones.
    pub fn unsupported(&self, name: &'static str, only: &'static str) -> Fault<'t> {
        self.fault(name, ErrorKind::UnsupportedSetting, only)
    }

    /// The fault of a member with an invalid value; `only` names the valid ones.
    pub fn bad(&self, name: &'static str, only: &'static str) -> Fault<'t> {
        self.fault(name, ErrorKind::BadMetadata, only)
    }

    /// Marks a member as known if `is_neutral` holds for its value, which then has no effect;
    /// rejects other values.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedSetting`].
    pub fn neutral(
        &self,
        name: &'static str,
        only: &'static str,
        is_neutral: impl FnOnce(Value<'t>) -> bool,
    ) -> Read<'t, ()> {
        match self.get(name) {
            Some(value) if !is_neutral(value) => Err(self.unsupported(name, only)),
            _ => Ok(()),
        }
    }

    /// Rejects the first member that was never read and is not listed in `irrelevant`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedSetting`].
    pub fn finish(&self, irrelevant: &[&str]) -> Read<'t, ()> {
        let asked = self.asked.get();
        for (at, (key, value)) in self.members().enumerate() {
            let is_asked = asked.get(at / 128).is_some_and(|bits| bits >> (at % 128) & 1 == 1);
            if !is_asked && !value.is_null() && !irrelevant.iter().any(|known| is(key, known)) {
                let error = Error::new(value.offset(), ErrorKind::UnsupportedSetting);
                return Err(Fault { error, key, only: UNKNOWN });
            }
        }
        Ok(())
    }

    fn fault(&self, name: &'static str, kind: ErrorKind, only: &'static str) -> Fault<'t> {
        let offset = self.value.member(name).map_or(self.value.offset(), |value| value.offset());
        Fault { error: Error::new(offset, kind), key: name, only }
    }

    fn typed<T>(
        &self,
        name: &'static str,
        only: &'static str,
        read: impl FnOnce(Value<'t>) -> Option<T>,
    ) -> Read<'t, Option<T>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.bad(name, only))
    }
}

/// The integer value of `number`, if it is one.
fn integer(number: f64) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked
    let integer = (0.0..=9_007_199_254_740_992.0).contains(&number).then_some(number as u64)?;
    #[allow(clippy::cast_precision_loss, clippy::float_cmp)] // exact below 2⁵³
    let is_whole = integer as f64 == number;
    is_whole.then_some(integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object<'_> {
        Object::new(Value::parse(text, 0).unwrap()).unwrap()
    }

    #[test]
    fn a_member_that_nobody_asked_for_is_refused_by_name() {
        let members = object(r#"{"a": 1, "b": 2, "c": null, "note": "x"}"#);
        assert_eq!(members.number("a").unwrap(), Some(1.0));
        let fault = members.finish(&["note"]).unwrap_err();
        assert_eq!((fault.key, fault.error.kind()), ("b", ErrorKind::UnsupportedSetting));
        assert_eq!(fault.error.offset(), Some(14));
        assert!(members.get("b").is_some());
        members.finish(&["note"]).unwrap();
    }

    #[test]
    fn values_of_other_types_are_refused_at_their_place() {
        let members = object(r#"{"a": "x", "n": 4.0, "odd": 1.5, "list": [1]}"#);
        let fault = members.number("a").unwrap_err();
        assert_eq!((fault.error.kind(), fault.error.offset()), (ErrorKind::BadMetadata, Some(6)));
        assert_eq!(members.integer("n").unwrap(), Some(4));
        assert!(members.integer("odd").is_err() && members.object("list").is_err());
        assert_eq!(members.items("list").unwrap().count(), 1);
        let missing = members.needed::<()>("size", None).unwrap_err();
        assert_eq!((missing.key, missing.error.kind()), ("size", ErrorKind::MissingMetadata));
        assert!(Object::new(Value::parse("[1]", 0).unwrap()).is_err());
    }

    #[test]
    fn neutral_values_pass() {
        let members = object(r#"{"is_decoder": true, "off": false}"#);
        let is_off = |value: Value<'_>| value.as_bool() == Some(false);
        members.neutral("off", "", is_off).unwrap();
        members.neutral("absent", "", is_off).unwrap();
        let refusal = members.neutral("is_decoder", "only false is honoured", is_off).unwrap_err();
        assert_eq!((refusal.key, refusal.only), ("is_decoder", "only false is honoured"));
        members.finish(&[]).unwrap();
    }

    #[test]
    fn a_fault_is_told_with_its_name_and_what_would_be_taken() {
        extern crate std;
        let members = object(r#"{"layers": "x"}"#);
        let fault = members.number("layers").unwrap_err();
        let told = std::format!("`layers`: {}; a number is needed", fault.error);
        assert_eq!(std::format!("{fault}"), told);
        let fault = members.needed::<()>("heads", None).unwrap_err();
        assert_eq!(std::format!("{fault}"), std::format!("`heads`: {}", fault.error));
    }

    #[test]
    fn more_members_than_any_settings_have_are_refused() {
        extern crate std;
        let of = |count: usize| {
            let members: std::vec::Vec<_> =
                (0..count).map(|at| std::format!("\"m{at}\": {at}")).collect();
            std::format!(" {{{}}}", members.join(", "))
        };
        let most = of(MOST_MEMBERS);
        let members = Object::new(Value::parse(&most, 7).unwrap()).unwrap();
        assert_eq!(members.integer("m255").unwrap(), Some(255));
        assert_eq!(members.finish(&[]).unwrap_err().key, "m0");
        let more = of(MOST_MEMBERS + 1);
        let fault = Object::new(Value::parse(&more, 7).unwrap()).unwrap_err();
        assert_eq!((fault.error.kind(), fault.error.offset()), (ErrorKind::OverLimit, Some(8)));
    }
}
