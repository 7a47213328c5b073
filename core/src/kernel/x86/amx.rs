//! Detects whether this program may use the CPU's AMX: the operating system must support it, and
//! Linux requires a request.

use core::arch::x86_64::_xgetbv;

use super::safe::cpuid;

/// In leaf 1, ECX: `xgetbv` works.
const OSXSAVE: u32 = 1 << 27;
/// In XCR0: the system saves the tiles' configuration and data.
const TILE_STATE: u64 = 1 << 17 | 1 << 18;

/// Returns true if tiles, which the CPU has, can be used in this process from now on.
pub(super) fn usable() -> bool {
    if cpuid(1).ecx & OSXSAVE == 0 {
        return false;
    }
    // SAFETY: `xgetbv` works, as checked above.
    let kept = unsafe { state_components() };
    kept & TILE_STATE == TILE_STATE && permitted()
}

/// # Safety
///
/// The system must have enabled `xgetbv`.
#[target_feature(enable = "xsave")]
unsafe fn state_components() -> u64 {
    // SAFETY: upheld by the caller.
    unsafe { _xgetbv(0) }
}

/// Requests the 8 KiB of state that tiles take from Linux (`ARCH_REQ_XCOMP_PERM`,
/// Documentation/arch/x86/xstate.rst). The permission holds for all threads, and repeated requests
/// change nothing. It is denied if a signal stack would be too small.
#[cfg(target_os = "linux")]
fn permitted() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const REQUEST: u64 = 0x1023;
    const TILE_DATA: u64 = 18;
    let result: i64;
    // SAFETY: the call reads and writes no memory of ours.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => result,
            in("rdi") REQUEST,
            in("rsi") TILE_DATA,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result == 0
}

/// Not supported on other systems.
#[cfg(not(target_os = "linux"))]
const fn permitted() -> bool {
    false
}
