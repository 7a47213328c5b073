//! The set of a UQFF shard, its place there, and the size of the set: in the metadata of its
//! container.
//!
//! Shards are put in their places one after the other. Where that is broken off, or a file is
//! copied over another, a folder holds shards of two models that only this tells apart. Sets of
//! other programs do not say it.

use nanoembed_core::event::Mode;
use nanoembed_core::format::safetensors::Safetensors;
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::entries::room;

/// The key of [`SetPlace`].
pub const SET_KEY: &str = "uqff.producer.nanoembed.set";

/// A shard's place in its set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetPlace {
    /// A hash of the set's contents.
    pub set: String,
    /// From 1 on.
    pub number: usize,
    pub count: usize,
}

impl SetPlace {
    /// As it stands in a file.
    pub fn spelled(&self) -> String {
        format!("{} {}/{}", self.set, self.number, self.count)
    }

    fn from_file(file: &[u8]) -> Result<Option<Self>, CoreError> {
        let mut room = room(file)?;
        let container = Safetensors::parse(file, Mode::Lenient, &mut room).ok();
        let Some((set, number, count)) = container.as_ref().and_then(spelled) else {
            return Ok(None);
        };
        Ok(Some(Self { set: limit::copied(set)?, number, count }))
    }
}

/// The set, number and count that a container says.
fn spelled<'a>(container: &Safetensors<'a, '_>) -> Option<(&'a str, usize, usize)> {
    let (set, place) = container.metadata_value(SET_KEY)?.split_once(' ')?;
    let (number, count) = place.split_once('/')?;
    Some((set, number.parse().ok()?, count.parse().ok()?))
}

/// Refuses files that are not, in their order, all shards of one set; tells which of them is not.
pub(super) fn check<'a>(files: impl Iterator<Item = &'a [u8]>) -> Result<(), (usize, ErrorKind)> {
    let mut places = Vec::new();
    for (index, file) in files.enumerate() {
        let place = SetPlace::from_file(file).and_then(|place| limit::push(&mut places, place));
        place.map_err(|error| (index, error.kind()))?;
    }
    let Some(of_set) = places.iter().flatten().next() else { return Ok(()) };
    for (index, place) in places.iter().enumerate() {
        let is_its = place.as_ref().is_some_and(|place| {
            place.set == of_set.set && place.number == index + 1 && place.count == places.len()
        });
        if !is_its {
            return Err((index, ErrorKind::MixedShards));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(place: &str) -> Vec<u8> {
        let header = format!("{{\"__metadata__\":{{\"{SET_KEY}\":\"{place}\"}}}}");
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat()
    }

    #[test]
    fn only_all_shards_of_one_set_in_their_order_are_one() {
        let none = [&2_u64.to_le_bytes()[..], b"{}"].concat();
        let check = |files: &[&Vec<u8>]| check(files.iter().map(|file| file.as_slice()));
        let place = SetPlace { set: "ab".into(), number: 1, count: 2 };
        let (first, second) = (file(&place.spelled()), file("ab 2/2"));
        let of = |index| Err((index, ErrorKind::MixedShards));
        assert_eq!(check(&[&first, &second]), Ok(()));
        assert_eq!(check(&[&none, &none]), Ok(()));
        assert_eq!(check(&[&first]), of(0));
        assert_eq!(check(&[&second, &first]), of(0));
        assert_eq!(check(&[&first, &none]), of(1));
        assert_eq!(check(&[&none, &second]), of(0));
        assert_eq!(check(&[&first, &file("cd 2/2")]), of(1));
    }
}
