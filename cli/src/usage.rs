//! The parsed command line, and errors in one that cannot be parsed.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::builder::styling::{AnsiColor, Styles};
use clap::error::{ContextKind, ContextValue, ErrorKind as Kind};
use clap::{Arg, ArgAction, CommandFactory, FromArgMatches, Parser};
use nanoembed::{Kind as Cause, escape};

use crate::args::limits::FileLimit;
use crate::commands::Command;
use crate::error::{self, Error};
use crate::streams;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Text to embeddings from one file.
#[derive(Debug, Parser)]
#[command(
    name = "nanoembed",
    version,
    styles = STYLES,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  nanoembed embed \"How do I reset my password?\"
  nanoembed search \"holiday plans\" notes/
  nanoembed convert all-MiniLM-L6-v2/ model.weights --type int8
  nanoembed similar vectors.fifu Berlin

`nanoembed help COMMAND` tells a command's options, with examples."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Print neither warnings nor progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) file_limit: FileLimit,
}

/// The text below the list of commands.
const ENVIRONMENT: &str = "\
Environment:
  NANOEMBED_MODEL    the model of commands that have one built in, without `--model`
  NANOEMBED_THREADS  the number of threads, without `--threads`
  NANOEMBED_CACHE    the folder that indices are kept in
  NO_COLOR           no colours";

/// The text below the help of every command.
const EXIT_STATUS: &str = "\
Exit status:
  0 done, 1 bad input or a thing not found, 2 wrong usage, 3 reading or writing failed,
  130 interrupted";

/// All commands with their options. The value of a numeric option may be negative, so that the
/// option itself can reject it.
#[must_use]
pub fn command() -> clap::Command {
    let takes_value = |arg: &Arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let command = Cli::command();
    let help = format!(
        "{}\n\n{ENVIRONMENT}\n\n{EXIT_STATUS}",
        command.get_after_help().cloned().unwrap_or_default()
    );
    command.after_help(help).mut_subcommands(|command| {
        let help = command.get_after_help().cloned().unwrap_or_default();
        let command = command.after_help(format!("{help}\n\n{EXIT_STATUS}"));
        command.mut_args(|arg| match takes_value(&arg) {
            true => without_empty_variable(arg).allow_negative_numbers(true),
            false => arg,
        })
    })
}

/// The argument, without its environment variable if that is set but empty.
fn without_empty_variable(arg: Arg) -> Arg {
    match arg.get_env().and_then(std::env::var_os) {
        Some(value) if value.is_empty() => arg.env(Resettable::Reset),
        _ => arg,
    }
}

/// The parsed command line; the exit status of the process if it ends here.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Cli, ExitCode> {
    let parsed = command().try_get_matches_from(&arguments);
    let error = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => return Ok(cli),
        Err(error) => error,
    };
    let cluster = match error.kind() {
        Kind::DisplayHelp => dashed_text(&arguments, 'h'),
        Kind::DisplayVersion => dashed_text(&arguments, 'V'),
        Kind::UnknownArgument => unknown(&error).and_then(|flag| dashed_text(&arguments, flag)),
        _ => None,
    };
    if let Some(text) = cluster {
        let failure = Error::usage(format!("`{text}` begins with a dash, but is no option"))
            .with_hint(format!("a text that begins with a dash stands after `--`: -- \"{text}\""));
        error::print(&failure);
        return Err(ExitCode::from(error::exit_code(&failure)));
    }
    if !error.use_stderr() {
        let printed = streams::check_stdout().and_then(|()| error.print());
        return Err(match printed {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let failure = Error::writing("stdout", &error);
                error::print(&failure);
                ExitCode::from(error::exit_code(&failure))
            }
        });
    }
    say_wrong(&with_shown(&arguments).unwrap_or(error));
    Err(ExitCode::from(2))
}

/// The parser's error with control characters escaped: the parser repeats arguments as they are, so
/// it parses an escaped copy.
fn with_shown(arguments: &[OsString]) -> Option<clap::Error> {
    let texts: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let shown: Vec<_> = texts.iter().map(|text| escape::line(text)).collect();
    let is_changed = shown.iter().any(|text| matches!(text, Cow::Owned(_)));
    let shown = is_changed.then(|| shown.iter().map(|text| OsString::from(&**text)))?;
    let parsed = command().try_get_matches_from(shown);
    parsed.and_then(|matches| Cli::from_arg_matches(&matches)).err()
}

fn say_wrong(error: &clap::Error) {
    let said = error.render().ansi().to_string();
    let said = said.replacen("error:", &format!("error[{}]:", Cause::Usage.code()), 1);
    let _ = write!(anstream::stderr().lock(), "{said}");
}

/// The letter of an option that there is none of.
fn unknown(error: &clap::Error) -> Option<char> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let mut letters = argument.strip_prefix('-')?.chars();
    letters.next().filter(|letter| *letter != '-')
}

/// An argument such as `-hello`, which is a row of one-letter options to the parser and a text to
/// its author. It is one if it has `letter`, at which the parser stopped, and more than one option
/// would have.
fn dashed_text(arguments: &[OsString], letter: char) -> Option<&str> {
    let before_dashes = arguments.iter().skip(1).take_while(|argument| *argument != "--");
    before_dashes.filter_map(|argument| argument.to_str()).find(|argument| {
        let letters = argument.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        letters.is_some_and(|letters| letters.chars().count() > 1 && letters.contains(letter))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_consistent() {
        command().debug_assert();
    }

    #[test]
    fn a_text_with_a_dash_is_told_from_options() {
        let find = |arguments: &[&str], letter| {
            let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
            dashed_text(&arguments, letter).map(str::to_owned)
        };
        assert_eq!(find(&["n", "embed", "-hello"], 'h').as_deref(), Some("-hello"));
        assert_eq!(find(&["n", "embed", "- milk"], ' ').as_deref(), Some("- milk"));
        assert_eq!(find(&["n", "embed", "-h"], 'h'), None);
        assert_eq!(find(&["n", "embed", "--", "-hello"], 'h'), None);
        assert_eq!(find(&["n", "embed", "--help"], 'h'), None);
    }
}
