//! The folder that names of files are relative to.

/// WebAssembly begins in the root of what it is given: whoever runs it says where it is by `PWD`.
pub(crate) fn enter() {
    #[cfg(target_os = "wasi")]
    if let Some(folder) = std::env::var_os("PWD") {
        let _ = std::env::set_current_dir(folder);
    }
}
