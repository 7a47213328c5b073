//! Another Rust library with its own copy of the standard library.

#[unsafe(no_mangle)]
pub extern "C" fn other_rust_library(number: i32) -> i32 {
    let text = std::panic::catch_unwind(|| format!("{}", number + 1)).unwrap_or_default();
    text.parse().unwrap_or(0)
}
