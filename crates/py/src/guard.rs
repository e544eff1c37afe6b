//! A panic of the engine becomes an error that a user can report, without a traceback.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use pyo3::PyResult;

use crate::errors;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Makes panics inside [`run`] silent; all others keep the hook that was there.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if GUARDED.get() {
                LAST.with_borrow_mut(|last| *last = describe(info));
            } else {
                before(info);
            }
        }));
    });
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("no message");
    match info.location() {
        Some(at) => format!("{message} ({}:{})", at.file(), at.line()),
        None => message.to_owned(),
    }
}

/// Runs `work`. A panic is a fault of this program: it becomes a `RunError` with what to report, of which
/// `replay` makes the line that repeats it.
pub(crate) fn run<T>(replay: impl FnOnce() -> String, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    GUARDED.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(false);
    result.unwrap_or_else(|_| {
        let what = LAST.take();
        Err(errors::failed(format!(
            "internal error: {what}\nThis is a fault of ftlab, not of the input; please report it with the line below.\n\
             replay: {}",
            replay()
        )))
    })
}
