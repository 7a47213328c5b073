//! The set of a UQFF shard, its place there, and the size of the set: in the metadata of its
//! container.
//!
//! Shards are put in their places one after the other. Where that is broken off, or a file is
//! copied over another, a folder holds shards of two models that only this tells apart. Sets of
//! other programs do not say it.

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Mode;
use nanoembed_core::format::safetensors::Safetensors;

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

    fn from_file(file: &[u8]) -> Option<Self> {
        let mut room = room(file).ok()?;
        let container = Safetensors::parse(file, Mode::Lenient, &mut room).ok()?;
        let (set, place) = container.metadata_value(SET_KEY)?.split_once(' ')?;
        let (number, count) = place.split_once('/')?;
        let (number, count) = (number.parse().ok()?, count.parse().ok()?);
        Some(Self { set: set.to_owned(), number, count })
    }
}

/// Refuses files that are not, in their order, all shards of one set; tells which of them is not.
pub(super) fn check<'a>(files: impl Iterator<Item = &'a [u8]>) -> Result<(), (usize, ErrorKind)> {
    let places: Vec<Option<SetPlace>> = files.map(SetPlace::from_file).collect();
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
