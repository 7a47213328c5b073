//! The function `strftime_now`: the date and time, of UTC, in a form that a template gives.

use minijinja::{Error, ErrorKind};

use crate::utc::Utc;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// From the weekday of the first day of 1970.
const WEEKDAYS: [&str; 7] =
    ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// The time `seconds` after the beginning of 1970, in the form of C's `strftime`.
///
/// # Errors
///
/// For directives that are not known here.
pub(super) fn formatted(seconds: u64, form: &str) -> Result<String, Error> {
    let Utc { year, month, day, hour, minute, second } = Utc::from_seconds(seconds);
    let index = |number: u64| usize::try_from(number).unwrap_or_default();
    let month_name = MONTHS.get(index(month.saturating_sub(1))).copied().unwrap_or_default();
    let weekday = WEEKDAYS.get(index(seconds / 86_400 % 7)).copied().unwrap_or_default();
    let brief = |name: &'static str| name.get(..3).unwrap_or(name);
    let twelve = (hour + 11) % 12 + 1;
    let mut text = String::new();
    let mut chars = form.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        let (directive, is_padded) = match chars.next() {
            Some('-') => (chars.next(), false),
            directive => (directive, true),
        };
        let mut number = |number: u64, width: usize| {
            let width = if is_padded { width } else { 0 };
            text.push_str(&format!("{number:0width$}"));
        };
        match directive {
            Some('Y') => number(year, 4),
            Some('y') => number(year % 100, 2),
            Some('m') => number(month, 2),
            Some('d') => number(day, 2),
            Some('H') => number(hour, 2),
            Some('I') => number(twelve, 2),
            Some('M') => number(minute, 2),
            Some('S') => number(second, 2),
            Some('B') => text.push_str(month_name),
            Some('b') => text.push_str(brief(month_name)),
            Some('A') => text.push_str(weekday),
            Some('a') => text.push_str(brief(weekday)),
            Some('p') => text.push_str(if hour < 12 { "AM" } else { "PM" }),
            Some('%') => text.push('%'),
            other => {
                let other = other.map(String::from).unwrap_or_default();
                let message = format!("`%{other}` in `strftime_now` is not supported");
                return Err(Error::new(ErrorKind::InvalidOperation, message));
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_form_of_strftime() {
        // Saturday, 7 February 2026, 15:04:05 UTC.
        let seconds = 1_770_476_645;
        for (form, expected) in [
            ("%d %b %Y", "07 Feb 2026"),
            ("%Y-%m-%d %H:%M:%S", "2026-02-07 15:04:05"),
            ("%A, %-d %B %y, %I %p%%", "Saturday, 7 February 26, 03 PM%"),
            ("%a", "Sat"),
        ] {
            assert_eq!(formatted(seconds, form).unwrap(), expected, "{form}");
        }
        assert!(formatted(seconds, "%Z").is_err() && formatted(seconds, "%").is_err());
    }
}
