//! The form that results are written in: as `--format` says, else by the file's ending.
//!
//! A file whose ending tells no form is refused, and so is one whose ending tells another form than
//! `--format`: nothing is ever written in another form than the file's name promises. Stdout, pipes
//! and devices get a command's usual form.

use std::path::Path;

use clap::ValueEnum;
use nanoembed::files::new_file::is_stream;
use nanoembed::files::promise::check_promise;

use crate::error::{Error, Result};

/// The forms that a command writes.
pub(crate) trait Form: ValueEnum + PartialEq {
    /// The endings of files of this form, without the dot, the usual one first.
    fn endings(&self) -> &'static [&'static str];
}

/// The form of `output`: the one `asked` for, else the one of its ending. Stdout, pipes and devices
/// need no ending: they get the `usual` one.
pub(crate) fn form_of<F: Form>(output: &Path, asked: Option<F>, usual: F) -> Result<F> {
    let ending = output.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    if let Some(asked) = asked {
        let name = asked.to_possible_value().map(|value| format!("--format {}", value.get_name()));
        check_promise(output, asked.endings(), &name.unwrap_or_default())?;
        return Ok(asked);
    }
    let told = |form: &&F| ending.as_deref().is_some_and(|it| form.endings().contains(&it));
    let forms = F::value_variants();
    if let Some(told) = forms.iter().find(told) {
        return Ok(told.clone());
    }
    if is_stream(output) {
        return Ok(usual);
    }
    Err({
        let message = match &ending {
            Some(ending) => format!("the ending `.{ending}` is not that of a form written here"),
            None => "without an ending the file's name does not tell in what form to write".into(),
        };
        let usual: Vec<String> = forms
            .iter()
            .filter_map(|form| Some(format!("`.{}`", form.endings().first()?)))
            .collect();
        let names: Vec<String> = forms
            .iter()
            .filter_map(|form| Some(form.to_possible_value()?.get_name().to_owned()))
            .collect();
        let (usual, names) = (usual.join(", "), names.join("|"));
        Error::usage(message)
            .at(output.display())
            .with_hint(format!("name it {usual}, or say `--format {names}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    enum Sample {
        Text,
        Npy,
    }

    impl Form for Sample {
        fn endings(&self) -> &'static [&'static str] {
            match self {
                Self::Text => &["txt"],
                Self::Npy => &["npy"],
            }
        }
    }

    #[test]
    fn a_form_is_told_by_the_option_or_the_ending_and_never_guessed() {
        let form = |name: &str, asked| form_of(Path::new(name), asked, Sample::Text).ok();
        assert_eq!(form("-", None), Some(Sample::Text));
        assert_eq!(form("x.npy", None), Some(Sample::Npy));
        assert_eq!(form("x.NPY", None), Some(Sample::Npy));
        assert_eq!(form("x.bin", Some(Sample::Npy)), Some(Sample::Npy));
        assert_eq!(form("x.txt", Some(Sample::Npy)), None);
        assert_eq!(form("x.parquet", Some(Sample::Npy)), None);
        for unknown in ["x.parquet", "x", "npy", ".npy", "x.npy.gz", "x."] {
            assert_eq!(form(unknown, None), None, "{unknown}");
        }
    }
}
