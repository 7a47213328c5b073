//! The bins as a picture in SVG, on a logarithmic scale of counts, so that outliers can be seen.

use std::fmt::Write;

use nanoembed::inspect::Distribution;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 480.0;
/// The edges of the bars, in pixels from the picture's upper left corner.
const LEFT: f64 = 90.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 52.0;
const BOTTOM: f64 = HEIGHT - 58.0;
/// The lower end of the scale of counts: a bar of one value has a height.
const FEWEST: f64 = 0.5;
/// The most marks on the scale of values.
const MARKS: f64 = 10.0;

/// The positions of values and counts in the picture.
struct Scales {
    first: f64,
    end: f64,
    most: f64,
}

impl Scales {
    fn x(&self, value: f64) -> f64 {
        LEFT + (value - self.first) / (self.end - self.first) * (RIGHT - LEFT)
    }

    fn y(&self, count: f64) -> f64 {
        BOTTOM - (count / FEWEST).ln() / (self.most / FEWEST).ln() * (BOTTOM - TOP)
    }
}

/// The picture as a file's text.
#[expect(clippy::cast_precision_loss, reason = "a picture")]
pub(super) fn svg(distribution: &Distribution) -> String {
    let first = distribution.first_bin;
    let end = first + distribution.bin_width * distribution.counts.len() as f64;
    let most = distribution.counts.iter().copied().max().unwrap_or(0).max(1) as f64 * 1.5;
    let scales = Scales { first, end, most };
    let mut to = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="13" fill="#333">
<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>
"##
    );
    let (across, down) = (f64::midpoint(LEFT, RIGHT), f64::midpoint(TOP, BOTTOM));
    let title = format!(r#"x="{across}" y="32" font-size="20" text-anchor="middle""#);
    text(&mut to, &title, &distribution.name);
    let x_title = format!(r#"x="{across}" y="{}" text-anchor="middle""#, HEIGHT - 14.0);
    text(&mut to, &x_title, &format!("value ({})", distribution.dtype));
    let y_title = format!(r#"transform="translate(24 {down}) rotate(-90)" text-anchor="middle""#);
    text(&mut to, &y_title, "count");
    counts(&mut to, &scales);
    bars(&mut to, &scales, distribution);
    values(&mut to, &scales);
    to.push_str("</svg>\n");
    to
}

fn text(to: &mut String, attributes: &str, words: &str) {
    // What XML 1.0 cannot hold is not drawn either.
    let drawn = |letter: char| !letter.is_control() && !matches!(letter, '\u{fffe}' | '\u{ffff}');
    let mut escaped = String::new();
    for letter in words.chars().filter(|letter| drawn(*letter)) {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            letter => escaped.push(letter),
        }
    }
    line(to, format_args!("<text {attributes}>{escaped}</text>"));
}

fn line(to: &mut String, element: std::fmt::Arguments<'_>) {
    // Writing to a `String` does not fail.
    let _ = writeln!(to, "{element}");
}

/// Horizontal lines at powers of ten.
fn counts(to: &mut String, scales: &Scales) {
    let powers = (0..20).map(|power| 10_f64.powi(power));
    for count in powers.take_while(|count| *count <= scales.most) {
        let y = scales.y(count);
        line(
            to,
            format_args!(
                r##"<path d="M{LEFT} {y:.1}H{RIGHT}" stroke="#333" stroke-opacity="0.15"/>"##
            ),
        );
        let place = format!(r#"x="{}" y="{:.1}" text-anchor="end""#, LEFT - 8.0, y + 4.5);
        text(to, &place, &count.to_string());
    }
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn bars(to: &mut String, scales: &Scales, distribution: &Distribution) {
    let mut path = String::new();
    for (index, count) in distribution.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let from = distribution.first_bin + distribution.bin_width * index as f64;
        let (left, right) = (scales.x(from), scales.x(from + distribution.bin_width * 0.92));
        let y = scales.y(*count as f64);
        let _ = write!(path, "M{left:.2} {BOTTOM}V{y:.2}H{right:.2}V{BOTTOM}Z");
    }
    line(to, format_args!(r##"<path d="{path}" fill="#2a78d6"/>"##));
}

/// The axis of values, with marks at round numbers.
fn values(to: &mut String, scales: &Scales) {
    line(
        to,
        format_args!(
            r##"<path d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}" fill="none" stroke="#333" stroke-opacity="0.4"/>"##
        ),
    );
    let (step, decimals) = step((scales.end - scales.first) / MARKS);
    let mut mark = (scales.first / step).ceil();
    while mark * step <= scales.end {
        let x = scales.x(mark * step);
        line(
            to,
            format_args!(r##"<path d="M{x:.1} {BOTTOM}v5" stroke="#333" stroke-opacity="0.4"/>"##),
        );
        let place = format!(r#"x="{x:.1}" y="{}" text-anchor="middle""#, BOTTOM + 19.0);
        // A negative zero is none.
        text(to, &place, &format!("{:.decimals$}", mark * step + 0.0));
        mark += 1.0;
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `width`, and its decimals.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "exponents")]
fn step(width: f64) -> (f64, usize) {
    let power = width.log10().floor();
    let unit = 10_f64.powf(power);
    let times = [1.0, 2.0, 5.0].into_iter().find(|times| times * unit >= width);
    let decimals = if times.is_some() { -power } else { -power - 1.0 };
    (times.unwrap_or(10.0) * unit, decimals.max(0.0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_at_round_numbers() {
        assert_eq!(step(0.013), (0.02, 2));
        assert_eq!(step(0.6), (1.0, 0));
        assert_eq!(step(30.0), (50.0, 0));
    }

    #[test]
    fn a_picture_has_a_bar_a_bin_that_is_not_empty_and_its_names_are_escaped() {
        let mut distribution = Distribution::default();
        distribution.name = "<a & b>".into();
        distribution.dtype = "q4_0";
        distribution.shape = vec![8];
        distribution.elements = 8;
        distribution.min = -1.0;
        distribution.max = 3.0;
        distribution.mean = 0.0;
        distribution.deviation = 0.0;
        distribution.zeros = 0;
        distribution.not_finite = 0;
        distribution.first_bin = -1.0;
        distribution.bin_width = 1.0;
        distribution.counts = vec![5, 0, 2, 1];
        let picture = svg(&distribution);
        assert!(picture.contains(">&lt;a &amp; b&gt;</text>"), "{picture}");
        assert!(picture.contains(">value (q4_0)</text>"), "{picture}");
        let bars = picture.lines().find(|line| line.contains("#2a78d6")).unwrap();
        assert_eq!(bars.matches('Z').count(), 3);
        assert!(picture.contains(">-1.0</text>") && picture.contains(">3.0</text>"), "{picture}");
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    }
}
