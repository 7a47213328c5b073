//! What the programs share: start-up, semihosting (files of the host as an SD card), a clock that
//! counts instructions.
//!
//! Run by QEMU with `-icount shift=0` an instruction takes a nanosecond, so that the board's timer
//! counts instructions.

#![no_std]

use core::arch::{asm, global_asm};
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

pub mod embedder;
pub mod linked;

global_asm!(
    ".section .vectors, \"a\"",
    ".word __stack_top",
    ".word Reset",
    ".rept 14",
    ".word Fault",
    ".endr",
    ".section .text.Reset, \"ax\"",
    ".global Reset",
    ".type Reset, %function",
    ".thumb_func",
    "Reset:",
    // Coprocessors 10 and 11, the FPU, for everybody.
    "ldr r0, =0xE000ED88",
    "ldr r1, [r0]",
    "orr r1, r1, #0xF00000",
    "str r1, [r0]",
    "dsb",
    "isb",
    "ldr r0, =__data_start",
    "ldr r1, =__data_end",
    "ldr r2, =__data_load",
    "1: cmp r0, r1",
    "bhs 2f",
    "ldr r3, [r2], #4",
    "str r3, [r0], #4",
    "b 1b",
    "2: ldr r0, =__bss_start",
    "ldr r1, =__bss_end",
    "movs r2, #0",
    "3: cmp r0, r1",
    "bhs 4f",
    "str r2, [r0], #4",
    "b 3b",
    // The stack is painted, to see later how deep it went.
    "4: ldr r0, =__stack_limit",
    "ldr r2, =0xA5A5A5A5",
    "mov r1, sp",
    "5: cmp r0, r1",
    "bhs 6f",
    "str r2, [r0], #4",
    "b 5b",
    "6: bl start",
    "b .",
    ".global Fault",
    ".type Fault, %function",
    ".thumb_func",
    "Fault: bl fault",
    "b .",
    ".ltorg",
);

unsafe extern "C" {
    static __stack_limit: u32;
    static __stack_top: u32;
    static __bss_start: u32;
    static __bss_end: u32;
    static __data_start: u32;
}

#[unsafe(no_mangle)]
extern "C" fn fault() -> ! {
    print("fault\n");
    exit(3)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    print("panic\n");
    exit(2)
}

fn semihosting(operation: u32, parameters: *const u32) -> i32 {
    let answer;
    // SAFETY: the debugger's call; it reads the parameters and writes where they point.
    unsafe {
        asm!("bkpt 0xAB", inlateout("r0") operation => answer, in("r1") parameters, options(nostack));
    }
    answer
}

/// Ends the program with a status.
pub fn exit(status: u32) -> ! {
    // SYS_EXIT_EXTENDED with ADP_Stopped_ApplicationExit.
    let parameters = [0x20026, status];
    semihosting(0x20, parameters.as_ptr());
    loop {}
}

/// Prints to the host's console.
pub fn print(text: &str) {
    let console = File::open(":tt\0", 4);
    console.write(text.as_bytes());
    console.close();
}

/// Prints a label, a number and a line's end.
pub fn print_number(label: &str, mut number: u64) {
    let mut digits = [0; 21];
    let mut start = digits.len() - 1;
    digits[start] = b'\n';
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    print(label);
    print(core::str::from_utf8(&digits[start..]).unwrap_or_default());
}

/// A file of the host.
#[derive(Clone, Copy)]
pub struct File(u32);

static BYTES_READ: AtomicU32 = AtomicU32::new(0);
static READS: AtomicU32 = AtomicU32::new(0);

impl File {
    /// Opens a file, whose name ends with a zero, in a mode of semihosting: 1 reads, 5 writes.
    pub fn open(name: &str, mode: u32) -> Self {
        let parameters = [name.as_ptr() as u32, mode, name.len() as u32 - 1];
        let handle = semihosting(0x01, parameters.as_ptr());
        if handle < 0 {
            exit(4);
        }
        Self(handle as u32)
    }

    pub fn close(self) {
        semihosting(0x02, &self.0);
    }

    pub fn length(self) -> u64 {
        semihosting(0x0C, &self.0) as u32 as u64
    }

    /// Writes floats as they lie in memory, little-endian.
    pub fn write_floats(self, values: &[f32]) {
        for value in values {
            self.write(&value.to_le_bytes());
        }
    }

    pub fn write(self, bytes: &[u8]) {
        let parameters = [self.0, bytes.as_ptr() as u32, bytes.len() as u32];
        semihosting(0x05, parameters.as_ptr());
    }

    /// Reads from `offset` on; returns how many bytes, or `None`.
    pub fn read_at(self, offset: u64, destination: &mut [u8]) -> Option<usize> {
        let seek = [self.0, offset as u32];
        if semihosting(0x0A, seek.as_ptr()) < 0 {
            return None;
        }
        let parameters = [self.0, destination.as_mut_ptr() as u32, destination.len() as u32];
        // The answer is how many are missing.
        let missing = semihosting(0x06, parameters.as_ptr()) as usize;
        let read = destination.len().checked_sub(missing)?;
        BYTES_READ.fetch_add(read as u32, Ordering::Relaxed);
        READS.fetch_add(1, Ordering::Relaxed);
        Some(read)
    }
}

/// Opens a file of this name.
pub fn open(name: &str, mode: u32) -> File {
    let mut ended = [0; 256];
    match ended.get_mut(..name.len()) {
        Some(room) if name.len() < 255 => room.copy_from_slice(name.as_bytes()),
        _ => exit(4),
    }
    File::open(core::str::from_utf8(&ended[..name.len() + 1]).unwrap_or("\0"), mode)
}

/// The callback of a source over a [`File`], whose address is the context.
///
/// # Safety
///
/// As `nanoembed_read_at` says.
pub unsafe extern "C" fn read_at(
    context: *mut c_void,
    offset: u64,
    destination: *mut u8,
    length: usize,
    read: *mut usize,
) -> i32 {
    // SAFETY: the contract.
    let (file, destination) =
        unsafe { (*context.cast::<File>(), core::slice::from_raw_parts_mut(destination, length)) };
    match file.read_at(offset, destination) {
        Some(bytes) => {
            // SAFETY: as before.
            unsafe { *read = bytes };
            0
        }
        None => 1,
    }
}

/// Bytes read, and calls, since the last time.
pub fn take_reads() -> (u32, u32) {
    (BYTES_READ.swap(0, Ordering::Relaxed), READS.swap(0, Ordering::Relaxed))
}

/// The program's arguments, separated by spaces, at the front of `buffer`.
pub fn arguments(buffer: &mut [u8; 512]) -> &str {
    let mut parameters = [buffer.as_mut_ptr() as u32, 512];
    semihosting(0x15, parameters.as_mut_ptr());
    let length = (parameters[1] as usize).min(511);
    core::str::from_utf8(&buffer[..length]).unwrap_or_default()
}

const TIMER: *mut u32 = 0x4000_0000 as *mut u32;

/// Starts the clock: the board's first timer, 25 MHz, 32 bits, downwards.
pub fn start_clock() {
    // SAFETY: the registers CTRL, VALUE and RELOAD of CMSDK's timer.
    unsafe {
        TIMER.add(2).write_volatile(u32::MAX);
        TIMER.add(1).write_volatile(u32::MAX);
        TIMER.write_volatile(1);
    }
}

/// Instructions since the clock was started; wraps after 171 · 10⁹.
pub fn instructions() -> u64 {
    // SAFETY: the register VALUE.
    let value = unsafe { TIMER.add(1).read_volatile() };
    u64::from(u32::MAX - value) * 40
}

/// Bytes of static memory, and of stack at its deepest.
pub fn memory_used() -> (usize, usize) {
    let (limit, top) = (&raw const __stack_limit, &raw const __stack_top);
    let statics = (&raw const __bss_end).addr() - (&raw const __data_start).addr();
    let mut at = limit;
    // SAFETY: the painted stack, up to what has been written over.
    unsafe {
        while at < top && at.read_volatile() == 0xA5A5_A5A5 {
            at = at.add(1);
        }
    }
    (statics, top.addr() - at.addr())
}

/// Ends the program if a call has failed.
pub fn check(status: u32, what: &str) {
    if status != 0 {
        print(what);
        print_number(" failed with status ", status.into());
        exit(1);
    }
}

/// Prints what a program took in all.
pub fn report_memory() {
    let (statics, stack) = memory_used();
    print_number("static memory: ", statics as u64);
    print_number("stack: ", stack as u64);
    print_number("ram: ", (statics + stack) as u64);
}
