//! Writes the UQFF 0.2.0 file that `tests/peers/mistralrs-quant` opens: `uqff_for_peer FILE`.

fn main() -> std::io::Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "every-layer-0.uqff".into());
    std::fs::write(path, nanoembed_tests::uqff::every_layer())
}
