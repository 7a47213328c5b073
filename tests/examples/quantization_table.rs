//! all-MiniLM-L6-v2 in every quantisation: its size, and the distance between the embeddings of the
//! reference sentences and those computed in f64 from the published weights.
//!
//! ```text
//! NANOEMBED_MODEL_DIR=… cargo run --release -p nanoembed-tests --example quantization_table -- FOLDER
//! ```
//!
//! (with a second argument `redraw` from the CSV file in FOLDER, without measuring) writes
//! `quantization.csv`, `quantization.md` and the chart `quantization.svg` to FOLDER. Matrices
//! (tables of embeddings included) are quantised, dequantised again, and run as f32, which measures
//! only the loss of the weights.

use std::fmt::Write as _;
use std::path::Path;

use nanoembed_core::kernel;
use nanoembed_core::model::SliceWeights;
use nanoembed_tests::agreement::{Agreement, compare, embed};
use nanoembed_tests::data::published_model;
use nanoembed_tests::minilm::Safetensors;
use nanoembed_tests::schemes::{Scheme, schemes};
use plotters::prelude::*;

const MOST_TOKENS: usize = 256;

/// A line of the table.
struct Line {
    name: String,
    bytes: u64,
    bits: f64,
    mean_cosine: f64,
    min_cosine: f64,
    same_neighbour: usize,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments.next().unwrap_or_else(|| ".".into());
    let folder = Path::new(&folder);
    if arguments.next().is_some_and(|argument| argument == "redraw") {
        let text = std::fs::read_to_string(folder.join("quantization.csv"))?;
        return draw(&from_csv(&text)?, &folder.join("quantization.svg"));
    }
    let Some(file) = published_model("model.safetensors", "quantization_table") else {
        return Err("NANOEMBED_MODEL_DIR does not name the model's folder".into());
    };
    let model = Safetensors::read(&file);
    let mut lines = Vec::new();
    for (name, scheme) in schemes() {
        let line = measure(&name, scheme, &model);
        println!(
            "{:12} {:6.1} MB {:5.2} bits  mean {:.6}  least {:.6}  same neighbour {}",
            line.name,
            line.bytes as f64 / 1e6,
            line.bits,
            line.mean_cosine,
            line.min_cosine,
            line.same_neighbour
        );
        lines.push(line);
    }
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("quantization.csv"), csv(&lines))?;
    std::fs::write(folder.join("quantization.md"), markdown(&lines))?;
    draw(&lines, &folder.join("quantization.svg"))
}

/// The tensors that the encoder uses; the pooler is not one of them.
fn is_used(name: &str) -> bool {
    name.starts_with("embeddings.") && !name.ends_with("position_ids")
        || name.starts_with("encoder.")
}

fn measure(name: &str, scheme: Scheme, model: &Safetensors) -> Line {
    let mut file = model.file.clone();
    let (mut bytes, mut matrix_bytes, mut elements) = (0, 0, 0);
    for tensor in model.names().filter(|name| is_used(name)) {
        let header = model.find(tensor).expect("a tensor");
        let dims = header.shape.dims();
        let [_, cols] = *dims else {
            bytes += header.bytes;
            continue;
        };
        let values = model.values(tensor);
        let (back, stored) = scheme.round_trip(&values, usize::try_from(cols).expect("small"));
        (bytes, matrix_bytes) = (bytes + stored, matrix_bytes + stored);
        elements += values.len();
        let place = usize::try_from(header.offset).expect("in memory");
        let data: Vec<u8> = back.iter().flat_map(|value| value.to_le_bytes()).collect();
        file[place..place + data.len()].copy_from_slice(&data);
    }
    let weights = SliceWeights::new(&file, |name| model.find(name));
    let embeddings = embed(&weights, &kernel::detect(), MOST_TOKENS, false);
    let Agreement { mean_cosine, min_cosine, same_neighbour, .. } =
        compare(embeddings, MOST_TOKENS);
    Line {
        name: name.to_owned(),
        bytes,
        bits: matrix_bytes as f64 * 8.0 / elements as f64,
        mean_cosine,
        min_cosine,
        same_neighbour,
    }
}

fn csv(lines: &[Line]) -> String {
    let mut text = String::from("type,bytes,bits,mean_cosine,min_cosine,same_neighbour\n");
    for line in lines {
        let Line { name, bytes, bits, mean_cosine, min_cosine, same_neighbour } = line;
        let _ = writeln!(
            text,
            "{name},{bytes},{bits:.3},{mean_cosine:.7},{min_cosine:.7},{same_neighbour}"
        );
    }
    text
}

fn from_csv(text: &str) -> Result<Vec<Line>, Box<dyn std::error::Error>> {
    let line = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let [name, bytes, bits, mean_cosine, min_cosine, same_neighbour] = cells[..] else {
            return Err(format!("not six cells: {line}").into());
        };
        Ok(Line {
            name: name.to_owned(),
            bytes: bytes.parse()?,
            bits: bits.parse()?,
            mean_cosine: mean_cosine.parse()?,
            min_cosine: min_cosine.parse()?,
            same_neighbour: same_neighbour.parse()?,
        })
    };
    text.lines().skip(1).map(line).collect()
}

fn markdown(lines: &[Line]) -> String {
    let mut text = String::from(
        "| type | bits a weight | size | cosine, mean | cosine, least | same nearest neighbour |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for line in lines {
        let _ = writeln!(
            text,
            "| `{}` | {:.2} | {:.1} MB | {:.5} | {:.5} | {} of 100 |",
            line.name,
            line.bits,
            line.bytes as f64 / 1e6,
            line.mean_cosine,
            line.min_cosine,
            line.same_neighbour
        );
    }
    text
}

/// Plots size against loss, both on logarithmic scales, with a name at each point.
fn draw(lines: &[Line], path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    const INK: RGBColor = RGBColor(0x33, 0x33, 0x33);
    const POINT: RGBColor = RGBColor(0x2a, 0x78, 0xd6);
    let lossy: Vec<&Line> = lines.iter().filter(|line| line.name != "f32").collect();
    let area = SVGBackend::new(path, (960, 560)).into_drawing_area();
    area.fill(&WHITE)?;
    let title = "all-MiniLM-L6-v2: size against change of the embeddings";
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 20).into_font().color(&INK))
        .margin(20)
        .x_label_area_size(48)
        .y_label_area_size(96)
        .build_cartesian_2d((6.0..60.0_f64).log_scale(), (1e-7..1.0_f64).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK.mix(0.4))
        .label_style(("sans-serif", 14).into_font().color(&INK))
        .x_desc("size of the encoder in MB (f32: 90)")
        .y_desc("1 − cosine, mean of 100 texts (lower is better)")
        .x_label_formatter(&|size| format!("{size:.0}"))
        .y_label_formatter(&|loss| format!("{loss:.0e}"))
        .draw()?;
    let style = ("sans-serif", 14).into_font().color(&INK);
    // Points that nearly coincide have their names in one line, after the rightmost of them.
    let mut groups: Vec<((f64, f64), String)> = Vec::new();
    for line in lossy {
        let point = (line.bytes as f64 / 1e6, (1.0 - line.mean_cosine).max(1e-7));
        chart.draw_series([Circle::new(point, 5, POINT.filled())])?;
        let near = |other: &(f64, f64)| {
            (point.0 / other.0).log10().abs() < 0.04 && (point.1 / other.1).log10().abs() < 0.15
        };
        match groups.iter_mut().find(|(other, _)| near(other)) {
            Some((place, names)) => {
                place.0 = place.0.max(point.0);
                *names += &format!(", {}", line.name);
            }
            None => groups.push((point, line.name.to_owned())),
        }
    }
    for (point, names) in groups {
        chart.draw_series([EmptyElement::at(point) + Text::new(names, (9, -7), style.clone())])?;
    }
    area.present()?;
    Ok(())
}
