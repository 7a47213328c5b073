//! The folder that names of files are relative to.

/// WebAssembly starts in the root of its file system: `PWD` says which folder the user is in.
pub(crate) fn enter() {
    #[cfg(target_os = "wasi")]
    if let Some(folder) = std::env::var_os("PWD") {
        let _ = std::env::set_current_dir(folder);
    }
}
