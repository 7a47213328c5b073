//! Whether this program may use the AMX of its CPU: the system must know of it, and Linux wants to
//! be asked.

use core::arch::x86_64::_xgetbv;

use super::safe::cpuid;

/// In leaf 1, ECX: `xgetbv` works.
const OSXSAVE: u32 = 1 << 27;
/// In XCR0: the system keeps the tiles' configuration and data.
const TILE_STATE: u64 = 1 << 17 | 1 << 18;

/// Whether tiles, which the CPU has, can be used in this process from now on.
pub(super) fn usable() -> bool {
    if cpuid(1).ecx & OSXSAVE == 0 {
        return false;
    }
    // SAFETY: `xgetbv` works, as asked above.
    let kept = unsafe { state_components() };
    kept & TILE_STATE == TILE_STATE && permitted()
}

/// # Safety
///
/// The system has enabled `xgetbv`.
#[target_feature(enable = "xsave")]
unsafe fn state_components() -> u64 {
    // SAFETY: the caller's.
    unsafe { _xgetbv(0) }
}

/// Asks Linux for the 8 KiB of state that tiles take (`ARCH_REQ_XCOMP_PERM`,
/// Documentation/arch/x86/xstate.rst). Once given, the permission holds for all threads; asking
/// again changes nothing. It is refused where a signal stack would be too small.
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

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
const fn permitted() -> bool {
    false
}
