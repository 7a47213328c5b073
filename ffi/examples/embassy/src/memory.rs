//! How much memory the program took.

/// What `cortex-m-rt` paints the stack with.
const PAINT: u32 = cortex_m_rt::STACK_PAINT_VALUE;

unsafe extern "C" {
    static __sdata: u32;
    static _stack_end: u32;
    static _stack_start: u32;
}

/// Bytes of static memory and of stack at its deepest.
pub fn used() -> usize {
    let (statics, bottom, top) =
        (&raw const __sdata, &raw const _stack_end, &raw const _stack_start);
    let mut at = bottom;
    // SAFETY: the painted stack, up to what has been written over.
    unsafe {
        while at < top && at.read_volatile() == PAINT {
            at = at.add(1);
        }
    }
    (bottom.addr() - statics.addr()) + (top.addr() - at.addr())
}
