//! Reading what a file says, event by event: pulled from a source, or pushed as it arrives.

use core::ffi::c_void;

use nanoembed_core::event::{Event, Mode};
use nanoembed_core::read::{Push, Seek};
use nanoembed_core::{Error, ErrorKind};

use crate::decoder::AnyDecoder;
use crate::event::nanoembed_event;
use crate::format::nanoembed_format;
use crate::memory::Lent;
use crate::pointer;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{
    Failure, INVALID, NANOEMBED_STOPPED, Outcome, answer, nanoembed_error, nanoembed_status, report,
};
use crate::versioned;

#[derive(Debug)]
enum Reading {
    Pulled(Seek<'static, Bytes, &'static mut AnyDecoder>),
    Pushed(Push<'static, &'static mut AnyDecoder>),
}

/// Reads a file's structure. Used by one thread at a time.
#[derive(Debug)]
pub struct nanoembed_reader {
    reading: Reading,
}

/// How a file is to be read.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_reader_options {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// The format, for example as `nanoembed_sniff` answers. UQFF is recognised as safetensors, and
    /// must be asked for.
    pub format: nanoembed_format,
    /// 0 to accept harmless deviations from the format's letter, 1 to refuse every one.
    pub strict: u32,
    /// 1 to have the data of tensors, too; 0 to pass over it, in storage unread.
    pub data: u32,
}

crate::versioned!(nanoembed_reader_options);

/// Memory that a reader needs beside its buffer, in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_reader_bytes() -> usize {
    least_bytes().unwrap_or(usize::MAX)
}

fn least_bytes() -> Outcome<usize> {
    let mut sum = crate::memory::Sum::default();
    sum.add::<nanoembed_reader>(1)?;
    AnyDecoder::add_bytes(&mut sum)?;
    Ok(sum.bytes())
}

/// Makes a reader in `memory` and puts the handle, which lies there, into `*reader`. What
/// `memory_bytes` is more than `nanoembed_reader_bytes()` is the reader's buffer, which must hold
/// the longest name, token or metadata entry: some hundred bytes in real files; with less, files
/// that have longer ones are refused.
///
/// With a `source` events are pulled by `nanoembed_reader_next`; with NULL the file is pushed,
/// chunk by chunk, through `nanoembed_reader_feed` and `nanoembed_reader_finish`.
///
/// # Safety
///
/// `source` is NULL or what its type says, `options` points to options, `memory` to as many bytes,
/// aligned to `NANOEMBED_ALIGN`, that nobody else touches as long as the reader is used; `reader`
/// to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_reader_init(
    source: *const nanoembed_source,
    options: *const nanoembed_reader_options,
    memory: *mut u8,
    memory_bytes: usize,
    reader: *mut *mut nanoembed_reader,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (options, out, mut lent, source) = unsafe {
            let source = if source.is_null() { None } else { Some(Bytes::new(source)?) };
            (
                versioned::needed(options)?,
                pointer::out(reader)?,
                Lent::new(memory, memory_bytes)?,
                source,
            )
        };
        let mode = if options.strict == 0 { Mode::Lenient } else { Mode::Strict };
        let handle: *mut nanoembed_reader = lent.place(1)?;
        let decoder = AnyDecoder::new(options.format, mode, &mut lent)?;
        let buffer = lent.rest()?;
        let reading = match source {
            None => Reading::Pushed(Push::new(decoder, buffer)),
            Some(source) => {
                let seek = Seek::new(source, decoder, buffer);
                Reading::Pulled(if options.data == 0 { seek.without_data() } else { seek })
            }
        };
        // SAFETY: the place was taken for it.
        unsafe { handle.write(nanoembed_reader { reading }) };
        out.write(handle);
        Ok(())
    };
    answer(make())
}

/// Puts the next thing that the file says into `*event`; `NANOEMBED_EVENT_END` at its end. After an
/// error every call returns that error.
///
/// # Safety
///
/// `reader` is NULL or a reader, `event` points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_reader_next(
    reader: *mut nanoembed_reader,
    event: *mut nanoembed_event,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (reader, out) = unsafe { (pointer::get_mut(reader)?, versioned::room(event)?) };
        let Reading::Pulled(seek) = &mut reader.reading else { return Err(INVALID) };
        let mut found = nanoembed_event::END;
        seek.next_event(|event| {
            found = nanoembed_event::from_event(&event);
            Ok(())
        })?;
        out.write(found);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Is called with what a pushed file says; anything but 0 stops the reader with
/// `NANOEMBED_STOPPED`.
pub type nanoembed_on_event =
    Option<unsafe extern "C" fn(context: *mut c_void, event: *const nanoembed_event) -> i32>;

/// The outcome of a pushed reader's callback.
fn pushed(
    reader: &mut nanoembed_reader,
    on_event: nanoembed_on_event,
    context: *mut c_void,
    push: impl FnOnce(
        &mut Push<'static, &'static mut AnyDecoder>,
        &mut dyn FnMut(Event<'_>) -> Result<(), Error>,
    ) -> Result<(), Error>,
) -> Outcome {
    let on_event = on_event.ok_or(crate::status::BAD_POINTER)?;
    let Reading::Pushed(pushed) = &mut reader.reading else { return Err(INVALID) };
    let mut stopped = false;
    let outcome = push(pushed, &mut |event| {
        let event = nanoembed_event::from_event(&event);
        // SAFETY: the contract of the callback; the event lives as long as the call.
        stopped = unsafe { on_event(context, &raw const event) } != 0;
        if stopped { Err(Error::without_offset(ErrorKind::Finished)) } else { Ok(()) }
    });
    if stopped {
        return Err(Failure::here(NANOEMBED_STOPPED));
    }
    Ok(outcome?)
}

/// Pushes the next chunk of a file, of any length.
///
/// # Safety
///
/// `reader` is NULL or a reader, `chunk` points to `bytes` bytes; `on_event` is called with
/// `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_reader_feed(
    reader: *mut nanoembed_reader,
    chunk: *const u8,
    bytes: usize,
    on_event: nanoembed_on_event,
    context: *mut c_void,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (reader, chunk) = unsafe { (pointer::get_mut(reader)?, pointer::slice(chunk, bytes)?) };
        pushed(reader, on_event, context, |push, on_event| push.feed(chunk, on_event))
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Declares the end of a pushed file: an error if the content is not complete, else the event
/// `NANOEMBED_EVENT_END` comes.
///
/// # Safety
///
/// `reader` is NULL or a reader; `on_event` is called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_reader_finish(
    reader: *mut nanoembed_reader,
    on_event: nanoembed_on_event,
    context: *mut c_void,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let reader = unsafe { pointer::get_mut(reader)? };
        pushed(reader, on_event, context, |push, on_event| push.finish(on_event))
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}
