//! Signals that ask the program to end: Ctrl-C, termination, a terminal that is closed.

/// Calls `act` when the first of them comes. Without a handler the system's own applies, which ends
/// the process all the same.
#[cfg(unix)]
pub(crate) fn when_interrupted(act: impl Fn() + Send + 'static) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let ignored = ignored();
    let heeded =
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    if let Ok(mut signals) = Signals::new(heeded) {
        std::thread::spawn(move || {
            if signals.forever().next().is_some() {
                act();
            }
        });
    }
}

#[cfg(not(unix))]
pub(crate) fn when_interrupted(act: impl Fn() + Send + 'static) {
    drop(ctrlc::set_handler(act));
}

/// The signals that this process was started to ignore, bit n − 1 for signal n: under `nohup`, or
/// in a script's background. They stay ignored. Where there is no `/proc`, nothing says so without
/// `unsafe`, and none counts as ignored.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
