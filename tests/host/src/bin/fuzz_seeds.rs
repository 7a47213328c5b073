//! Writes the fuzz targets' seeds from the test files, `fuzz_seeds FOLDER`, and prints the size
//! limit of each target's inputs: its name and a number, one per line.

use std::io;
use std::path::Path;

use nanoembed_host_tests::all_targets;

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1).unwrap_or_else(|| "fuzz/corpus".into());
    for target in all_targets() {
        let own = Path::new(&folder).join(target.name);
        std::fs::create_dir_all(&own)?;
        for (name, seed) in (target.seeds)() {
            std::fs::write(own.join(name), seed)?;
        }
        println!("{} {}", target.name, target.most_bytes);
    }
    Ok(())
}
